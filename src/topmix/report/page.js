"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);
  const unpack = (text, Type) => new Type(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);
  const SVG = "http://www.w3.org/2000/svg";

  // Everything that comes from documents reaches the page as text, here and nowhere else.
  function make(tag, attributes = {}, ...children) {
    const node = tag.startsWith("svg:") ? document.createElementNS(SVG, tag.slice(4)) : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
      else if (name === "hue") node.style.setProperty("--hue", value);
      else if (value !== null && value !== false) node.setAttribute(name, value);
    }
    node.append(...children.filter((child) => child !== null));
    return node;
  }

  const K = data.share.length, words = data.words;
  const frequency = unpack(data.frequency, Float32Array);
  const sizes = unpack(data.sizes, Uint16Array), candidates = unpack(data.candidates, Int32Array);
  const logs = unpack(data.probabilities, Float32Array);
  const starts = new Uint32Array(K + 1);
  for (let k = 0; k < K; k++) starts[k + 1] = starts[k] + sizes[k];
  const lookupTopics = unpack(data.lookup.topics, Uint16Array), lookupWeights = unpack(data.lookup.weights, Uint8Array);
  const idOf = new Map(words.map((word, v) => [word, v]));
  const named = words.map((word, v) => [word.toLowerCase(), v]).sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0));
  const largest = Math.max(...data.share, 1e-12);
  const number = new Intl.NumberFormat("en"), percent = (x) => (100 * x).toFixed(x >= 0.0995 ? 0 : x >= 0.00995 ? 1 : 2) + "%";
  const angle = data.x.map((x, k) => (Math.atan2(data.y[k], x) * 180 / Math.PI + 360) % 360);
  const hue = (k) => `hsl(${angle[k].toFixed(0)} var(--sat) var(--light))`;
  const soft = (k) => `hsl(${angle[k].toFixed(0)} var(--sat) var(--light) / .38)`;

  const state = { topic: 0, word: null, relevance: 1, query: "", sort: "size", shown: [], documents: 3 };

  // ---- words of a topic

  function best(k, n, relevance) {
    const found = [];
    for (let i = starts[k]; i < starts[k + 1]; i++) {
      const v = candidates[i];
      found.push([logs[i] - (1 - relevance) * frequency[v], v, logs[i]]);
    }
    return found.sort((a, b) => b[0] - a[0]).slice(0, n);
  }
  const topWords = Array.from({ length: K }, (_, k) => best(k, 10, 1).map(([, v]) => words[v]));

  function topicsOf(v) {
    const n = data.lookup.n, found = [];
    for (let i = v * n; i < (v + 1) * n; i++) if (lookupWeights[i]) found.push([lookupTopics[i], lookupWeights[i] / 255]);
    return found;
  }

  // ---- the list: only rows in sight exist

  const HEIGHT = 66, list = $("list"), spacer = $("spacer");
  const orders = {
    size: [...data.share.keys()].sort((a, b) => data.share[b] - data.share[a] || a - b),
    number: [...data.share.keys()],
    map: [...data.share.keys()].sort((a, b) => angle[a] - angle[b]),
  };

  function matches(k, query) {
    if (query === "" || String(k) === query) return true;
    for (let i = starts[k]; i < starts[k + 1]; i++) {  // words that it has more of than the average topic
      const v = candidates[i];
      if (logs[i] > frequency[v] && words[v].toLowerCase().startsWith(query)) return true;
    }
    return false;
  }

  function filter() {
    const query = state.query.toLowerCase();
    if (state.word !== null && words[state.word].toLowerCase() === query) state.shown = topicsOf(state.word).map(([k]) => k);
    else state.shown = orders[state.sort].filter((k) => matches(k, query));
    $("count").textContent = state.shown.length === K ? `${number.format(K)} topics` : `${number.format(state.shown.length)} of ${number.format(K)} topics`;
    spacer.style.height = state.shown.length * HEIGHT + "px";
    if (state.word === null) {
      const some = new Set(state.shown), all = some.size === K;
      circles.forEach((circle, k) => { circle.style.fillOpacity = all || some.has(k) ? "" : 0.1; });
    }
    suggest(query);
    drawList();
  }

  function drawList() {
    const first = Math.max(0, Math.floor(list.scrollTop / HEIGHT) - 4);
    const last = Math.min(state.shown.length, Math.ceil((list.scrollTop + list.clientHeight) / HEIGHT) + 4);
    const rows = [];
    for (let i = first; i < last; i++) {
      const k = state.shown[i];
      rows.push(make("div", { class: "topic", role: "option", id: `topic-${k}`, "data-topic": k, hue: hue(k), "aria-selected": k === state.topic, style: `top:${i * HEIGHT}px;--hue:${hue(k)}`, onclick: () => choose(k) },
        make("span", { class: "number" }, String(k)), make("span", { class: "said" }, topWords[k].slice(0, 8).join(" ")),
        make("span", { class: "share" }, percent(data.share[k])),
        make("span", { class: "bar" }, make("i", { style: `width:${100 * data.share[k] / largest}%` }))));
    }
    if (!state.shown.length) rows.push(make("p", { class: "nothing" }, "No topic has such a word among its best."));
    spacer.replaceChildren(...rows);
    list.setAttribute("aria-activedescendant", `topic-${state.topic}`);
  }

  function show(k) {
    const i = state.shown.indexOf(k);
    if (i < 0) return;
    const top = i * HEIGHT;
    if (top < list.scrollTop) list.scrollTop = top;
    else if (top + HEIGHT > list.scrollTop + list.clientHeight) list.scrollTop = top + HEIGHT - list.clientHeight;
  }

  function suggest(query) {
    const chips = [];
    if (query.length >= 2) {
      let low = 0, high = named.length;
      while (low < high) { const mid = (low + high) >> 1; if (named[mid][0] < query) low = mid + 1; else high = mid; }
      const found = [];
      for (let i = low; i < named.length && named[i][0].startsWith(query); i++) found.push(named[i][1]);
      found.sort((a, b) => a - b);
      for (const v of found.slice(0, 8)) chips.push(make("button", { class: "chip", "aria-pressed": v === state.word, onclick: () => ask(v) }, words[v]));
    }
    $("suggestions").replaceChildren(...chips);
  }

  // ---- the map

  const map = $("map"), circles = [];
  const radius = (k) => Math.max(Math.sqrt(data.share[k] * 0.3), 0.006);
  const box = { x: -1.2, y: -1.2, w: 2.4 };

  function drawMap() {
    for (const k of orders.size) {  // large ones first: small ones stay in reach on top of them
      const circle = make("svg:circle", { cx: data.x[k], cy: -data.y[k], r: radius(k), fill: hue(k), "data-topic": k,
        onclick: () => { if (!drag.moved) choose(k); }, onpointerenter: (e) => tip(k, e), onpointermove: (e) => tip(k, e), onpointerleave: () => { $("tip").hidden = true; } });
      circle.style.fill = hue(k);
      circles[k] = circle;
      map.append(circle);
    }
    map.append(make("svg:g", { id: "labels" }));
    view();
  }

  function view() {
    const wide = map.clientWidth || 800, high = map.clientHeight || 600;
    const w = wide >= high ? box.w * wide / high : box.w, h = wide >= high ? box.w : box.w * high / wide;
    map.setAttribute("viewBox", `${box.x + (box.w - w) / 2} ${box.y + (box.w - h) / 2} ${w} ${h}`);
    const unit = w / wide, size = 12.5 * unit, taken = [], labels = [];
    const left = box.x + (box.w - w) / 2, upper = box.y + (box.w - h) / 2;
    const first = state.word === null ? [state.topic] : topicsOf(state.word).map(([k]) => k);
    for (const k of [...first, ...orders.size]) {  // as many labels as have room, the largest first
      const x = data.x[k], y = -data.y[k];
      if (labels.length > 60 || (data.share[k] < 0.2 / K && !first.includes(k)) || x < left || x > left + w || y < upper || y > upper + h || labels.some((l) => l.k === k)) continue;
      const text = topWords[k].slice(0, 2).join(" "), half = text.length * size * 0.29;
      const mine = [x - half, y - size * 0.75, x + half, y + size * 0.75];
      if (taken.some((t) => mine[0] < t[2] && mine[2] > t[0] && mine[1] < t[3] && mine[3] > t[1])) continue;
      taken.push(mine);
      labels.push({ k, node: make("svg:text", { x, y: y + size * 0.34, "font-size": size }, text) });
    }
    map.querySelector("#labels").replaceChildren(...labels.map((l) => l.node));
  }

  function tip(k, event) {
    const node = $("tip"), frame = $("map-pane").getBoundingClientRect();
    node.replaceChildren(make("b", {}, `Topic ${k}`), ` ${percent(data.share[k])}`, make("br"), make("span", {}, topWords[k].join(" ")));
    node.hidden = false;
    node.style.left = Math.min(event.clientX - frame.left + 14, frame.width - node.offsetWidth - 8) + "px";
    node.style.top = Math.min(event.clientY - frame.top + 14, frame.height - node.offsetHeight - 8) + "px";
  }

  function zoom(factor, x = box.x + box.w / 2, y = box.y + box.w / 2) {
    const w = Math.min(Math.max(box.w * factor, 0.06), 4);
    box.x = x - (x - box.x) * w / box.w; box.y = y - (y - box.y) * w / box.w; box.w = w;
    view();
  }

  function point(event) {
    const p = new DOMPoint(event.clientX, event.clientY).matrixTransform(map.getScreenCTM().inverse());
    return [p.x, p.y];
  }

  const drag = { from: null, moved: false };
  map.addEventListener("wheel", (e) => { e.preventDefault(); zoom(Math.exp(Math.max(-60, Math.min(60, e.deltaY)) * 0.003), ...point(e)); }, { passive: false });
  map.addEventListener("pointerdown", (e) => { drag.from = point(e); drag.moved = false; });
  addEventListener("pointermove", (e) => {
    if (!drag.from) return;
    const [x, y] = point(e);
    if (Math.hypot(x - drag.from[0], y - drag.from[1]) > box.w * 0.008) { drag.moved = true; map.classList.add("dragging"); }
    if (drag.moved) { box.x -= x - drag.from[0]; box.y -= y - drag.from[1]; view(); }
  });
  addEventListener("pointerup", () => { drag.from = null; map.classList.remove("dragging"); });
  $("zoom-in").onclick = () => zoom(0.7);
  $("zoom-out").onclick = () => zoom(1 / 0.7);
  $("zoom-all").onclick = () => { Object.assign(box, { x: -1.2, y: -1.2, w: 2.4 }); view(); };
  addEventListener("resize", () => { view(); drawList(); });

  // ---- a topic

  function choose(k, { scroll = true } = {}) {
    circles[state.topic]?.classList.remove("chosen");
    state.topic = k;
    state.documents = 3;
    circles[k].classList.add("chosen");
    if (scroll) show(k);
    drawList();
    drawTopic();
    view();
    remember();
  }

  function drawTopic() {
    const k = state.topic, detail = $("detail");
    detail.style.setProperty("--hue", hue(k));
    detail.style.setProperty("--hue-soft", soft(k));
    $("topic-title").textContent = `Topic ${k}`;
    const rank = orders.size.indexOf(k) + 1;
    const tokens = data.about.tokens ? `, about ${number.format(Math.round(data.share[k] * data.about.tokens))} tokens` : "";
    $("topic-facts").textContent = `${percent(data.share[k])} of everything${tokens}; number ${rank} of ${number.format(K)} by size`;
    drawWords();
    $("near").replaceChildren(...data.near[k].map(([j, distance]) => make("button", { class: "meter", hue: hue(j), title: `distance ${distance}`, onclick: () => choose(j) },
      make("span", { class: "number" }, String(j)),
      make("span", { class: "track" }, make("i", { style: `width:${100 * (1 - distance)}%` }), make("span", {}, topWords[j].slice(0, 6).join(" "))),
      make("span", { class: "value" }, percent(1 - distance)))));
    drawDocuments();
    detail.scrollTop = 0;
  }

  function drawWords() {
    const k = state.topic, found = best(k, 30, state.relevance), most = Math.exp(Math.max(...found.map((w) => w[2])));
    const share = Math.log(Math.max(data.share[k], 1e-12));
    const rows = [make("li", {}, make("div", { class: "word headings" }, make("span", {}, ""), make("span", { class: "value", title: "share of the topic's tokens" }, "of topic"), make("span", { class: "value", title: "share of the word's tokens that are in this topic" }, "of word")))];
    for (const [, v, log] of found) {
      rows.push(make("li", {}, make("button", { class: "word", onclick: () => ask(v) },
        make("span", { class: "track" }, make("i", { style: `width:${100 * Math.exp(log) / most}%` }), make("span", {}, words[v])),
        make("span", { class: "value" }, percent(Math.exp(log))), make("span", { class: "value" }, percent(Math.min(1, Math.exp(share + log - frequency[v])))))));
    }
    $("words").replaceChildren(...rows);
    $("relevance-value").textContent = `λ = ${state.relevance.toFixed(2)}`;
  }

  function drawDocuments() {
    const mine = data.of_topic[state.topic];
    $("documents-title").textContent = "Documents most about it";
    if (!data.documents.length) { $("documents").replaceChildren(make("p", { class: "hint-text" }, "Give --corpus to `topmix report`, and examples are shown here.")); return; }
    const cards = mine.slice(0, state.documents).map((d) => card(data.documents[d]));
    if (mine.length > state.documents) cards.push(make("button", { id: "more", onclick: () => { state.documents += 10; drawDocuments(); } }, `${mine.length - state.documents} more`));
    if (!mine.length) cards.push(make("p", {}, "No document has much of it."));
    $("documents").replaceChildren(...cards);
  }

  function card(d) {
    const bar = make("div", { class: "mixture" }, ...d.topics.map(([k, share]) => make("button", { style: `width:${100 * share}%`, hue: hue(k), title: `Topic ${k}: ${percent(share)} (${topWords[k].slice(0, 4).join(" ")})`, "aria-label": `Topic ${k}, ${percent(share)}`, onclick: () => choose(k) })));
    const text = make("div", { class: "text" });
    for (const [piece, k] of d.pieces) {
      if (k < 0) text.append(piece);
      else if (k === state.topic) text.append(make("mark", { title: `Topic ${k}` }, piece));
      else text.append(make("span", { hue: hue(k), title: `Topic ${k}`, onclick: () => choose(k) }, piece));
    }
    if (d.cut) text.append(" …");
    const node = make("article", { class: "document" }, make("div", { class: "name" }, d.name), bar, text);
    node.append(make("button", { class: "more", onclick: (e) => { e.target.textContent = node.classList.toggle("open") ? "less" : "more"; } }, "more"));
    return node;
  }

  // ---- a word: which topics use it

  function ask(v) {
    state.word = v;
    state.query = $("search").value = words[v];
    map.classList.add("asked");
    const found = topicsOf(v);
    circles.forEach((circle) => { circle.style.fillOpacity = ""; });
    for (const [k, weight] of found) circles[k].style.fillOpacity = 0.2 + 0.8 * weight;
    $("word-card").replaceChildren(
      make("h2", {}, `“${words[v]}”`, make("button", { "aria-label": "Clear the word", onclick: clear }, "×")),
      ...found.map(([k, weight]) => make("button", { class: "meter", hue: hue(k), onclick: () => choose(k) },
        make("span", { class: "number" }, String(k)),
        make("span", { class: "track" }, make("i", { style: `width:${100 * weight}%` }), make("span", {}, topWords[k].slice(0, 4).join(" "))),
        make("span", { class: "value" }, percent(weight)))));
    $("word-card").hidden = false;
    filter();
    if (found.length) choose(found[0][0]);
    else view();
    remember();
  }

  function clear() {
    state.word = null;
    state.query = $("search").value = "";
    map.classList.remove("asked");
    circles.forEach((circle) => { circle.style.fillOpacity = ""; });
    $("word-card").hidden = true;
    filter();
    show(state.topic);
    drawList();
    view();
    remember();
  }

  // ---- training, settings

  function drawCurve() {
    const rows = data.history, W = 900, H = 380, L = 90, B = 40;
    if (!rows.length) { $("training-facts").textContent = "The model does not say how it was trained."; return; }
    const low = Math.min(...rows.map((r) => r[2])), high = Math.max(...rows.map((r) => r[2])), range = high - low || 1;
    const x = (i) => L + (rows.length > 1 ? i / (rows.length - 1) : 0.5) * (W - L - 20), y = (o) => 15 + (1 - (o - low) / range) * (H - B - 25);
    const svg = make("svg:svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": "Objective after each pass" });
    for (let i = 0; i <= 4; i++) {
      const o = low + range * i / 4;
      svg.append(make("svg:line", { class: "axis", x1: L, x2: W - 20, y1: y(o), y2: y(o) }), make("svg:text", { x: L - 8, y: y(o) + 4, "text-anchor": "end" }, Number(o.toPrecision(5)).toLocaleString("en")));
    }
    svg.append(make("svg:path", { d: rows.map((r, i) => `${i ? "L" : "M"}${x(i).toFixed(1)} ${y(r[2]).toFixed(1)}`).join("") }));
    const every = Math.ceil(rows.length / 15);
    rows.forEach((r, i) => {
      const dot = make("svg:circle", { cx: x(i), cy: y(r[2]), r: rows.length > 60 ? 2 : 3.5 });
      dot.append(make("svg:title", {}, `pass ${r[0]}, ${r[1].toFixed(1)} s: ${r[2].toLocaleString("en")}`));
      svg.append(dot);
      if (i % every === 0) svg.append(make("svg:text", { x: x(i), y: H - 14, "text-anchor": "middle" }, String(r[0])));
    });
    $("curve").replaceChildren(svg);
    $("training-facts").textContent = `The objective after each of ${rows.length} passes, ${rows.at(-1)[1].toFixed(1)} seconds in all; ${data.about.converged ? "it converged" : "it was ended before it converged"}. Higher is better.`;
  }

  // ---- the frame

  const tabs = ["topics", "training", "settings"];
  function open(name) {
    for (const tab of tabs) {
      $(`tab-${tab}`).setAttribute("aria-selected", tab === name);
      $(`tab-${tab}`).tabIndex = tab === name ? 0 : -1;
      $(`view-${tab}`).hidden = tab !== name;
    }
    if (name === "topics") { view(); drawList(); }
  }
  tabs.forEach((tab, i) => {
    $(`tab-${tab}`).onclick = () => open(tab);
    $(`tab-${tab}`).onkeydown = (e) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
      if (step) { const next = tabs[(i + step + tabs.length) % tabs.length]; open(next); $(`tab-${next}`).focus(); }
    };
  });

  function remember() {
    const word = state.word === null ? "" : `&word=${encodeURIComponent(words[state.word])}`;
    try { history.replaceState(null, "", `#topic=${state.topic}${word}`); } catch { /* some browsers refuse for files */ }
  }

  function step(by) {
    const i = state.shown.indexOf(state.topic);
    const next = state.shown[i < 0 ? 0 : Math.min(Math.max(i + by, 0), state.shown.length - 1)];
    if (next !== undefined) choose(next);
  }

  $("search").addEventListener("input", (e) => {
    state.query = e.target.value.trim();
    if (state.word !== null && words[state.word] !== state.query) { const query = e.target.value; clear(); state.query = query.trim(); e.target.value = query; }
    list.scrollTop = 0;
    filter();
  });
  $("search").addEventListener("keydown", (e) => {
    if (e.key !== "Enter") return;
    const query = state.query.toLowerCase(), exact = idOf.get(state.query) ?? idOf.get(query);
    const chip = $("suggestions").querySelector("button");
    if (exact !== undefined) ask(exact);
    else if (chip) chip.click();
    else if (state.shown.length) choose(state.shown[0]);
  });
  $("sort").onchange = (e) => { state.sort = e.target.value; filter(); show(state.topic); drawList(); };
  $("relevance").oninput = (e) => { state.relevance = 1 - Number(e.target.value); drawWords(); };
  $("previous").onclick = () => step(-1);
  $("next").onclick = () => step(1);
  list.addEventListener("scroll", drawList, { passive: true });
  addEventListener("keydown", (e) => {
    const typing = ["INPUT", "SELECT", "TEXTAREA"].includes(document.activeElement?.tagName);
    if (e.key === "Escape") { clear(); document.activeElement?.blur(); }
    else if (e.ctrlKey || e.metaKey || e.altKey) return;
    else if (e.key === "/" && !typing) { e.preventDefault(); open("topics"); $("search").focus(); $("search").select(); }
    else if ((e.key === "ArrowDown" || (e.key === "j" && !typing)) && document.activeElement !== $("relevance") && document.activeElement !== $("sort")) { e.preventDefault(); step(1); }
    else if ((e.key === "ArrowUp" || (e.key === "k" && !typing)) && document.activeElement !== $("relevance") && document.activeElement !== $("sort")) { e.preventDefault(); step(-1); }
    else if (e.key === "PageDown" && document.activeElement === list) { e.preventDefault(); step(10); }
    else if (e.key === "PageUp" && document.activeElement === list) { e.preventDefault(); step(-10); }
  });
  $("theme").onclick = () => {
    const root = document.documentElement, dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  };

  const a = data.about, facts = [a.estimator, `${number.format(a.n_topics)} topics`, `${number.format(a.n_words)} words`];
  if (a.n_docs !== undefined) facts.push(`${number.format(a.n_docs)} documents`);
  if (a.tokens) facts.push(`${number.format(a.tokens)} tokens`);
  if (a.passes) facts.push(`${a.passes} passes in ${a.seconds} s`);
  $("about").textContent = facts.join(" · ");
  $("made").textContent = `topmix ${a.version}`;
  $("settings").tBodies[0].append(...data.settings.map(([name, value]) => make("tr", {}, make("th", { scope: "row" }, name), make("td", {}, value))));
  drawCurve();
  drawMap();
  filter();
  const asked = new URLSearchParams(location.hash.slice(1)), wanted = Number(asked.get("topic") ?? orders.size[0]);
  choose(Number.isInteger(wanted) && wanted >= 0 && wanted < K ? wanted : orders.size[0]);
  if (asked.has("word") && idOf.has(asked.get("word"))) ask(idOf.get(asked.get("word")));
  document.documentElement.dataset.ready = "true";
})();
