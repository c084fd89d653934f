// The selected topic: its words, its nearest topics and its documents.

function selectTopic(k, { scroll = true } = {}) {
  circles[state.topic]?.classList.remove("chosen");
  state.topic = k;
  state.documents = 3;
  circles[k].classList.add("chosen");
  if (scroll) scrollToTopic(k);
  drawList();
  drawTopic();
  updateMap();
  updateAddress();
}

function drawTopic() {
  const k = state.topic, detail = $("detail");
  detail.style.setProperty("--hue", hue(k));
  detail.style.setProperty("--hue-soft", soft(k));
  $("topic-title").textContent = titleOf(k);
  const rank = orders.size.indexOf(k) + 1;
  const tokens = data.about.tokens ? `, about ${number.format(Math.round(data.share[k] * data.about.tokens))} tokens` : "";
  $("topic-facts").textContent = `${percent(data.share[k])} of all ${data.about.tokens ? "tokens" : "documents"}${tokens}; number ${rank} of ${number.format(K)} by size`;
  drawWords();
  $("near").replaceChildren(...data.near[k].map(([j, distance]) => element("button", { class: "meter", hue: hue(j), title: `distance ${distance}`, onclick: () => selectTopic(j) },
    element("span", { class: "number" }, String(j)),
    element("span", { class: "track" }, element("i", { style: `width:${100 * (1 - distance)}%` }), element("span", {}, topWords[j].slice(0, 6).join(" "))),
    element("span", { class: "value" }, percent(1 - distance)))));
  drawDocuments();
  detail.scrollTop = 0;
}

function drawWords() {
  const k = state.topic, found = bestWords(k, 30, state.relevance), most = Math.exp(Math.max(...found.map((w) => w[2])));
  const share = Math.log(Math.max(data.share[k], 1e-12));
  const rows = [element("li", {}, element("div", { class: "word headings" }, element("span", {}, ""), element("span", { class: "value", title: "share of the topic's tokens" }, "of topic"), element("span", { class: "value", title: "share of the word's tokens that are in this topic" }, "of word")))];
  for (const [, v, log] of found) {
    rows.push(element("li", {}, element("button", { class: "word", onclick: () => selectWord(v) },
      element("span", { class: "track" }, element("i", { style: `width:${100 * Math.exp(log) / most}%` }), element("span", {}, words[v])),
      element("span", { class: "value" }, percent(Math.exp(log))), element("span", { class: "value" }, percent(Math.min(1, Math.exp(share + log - frequency[v])))))));
  }
  $("words").replaceChildren(...rows);
  $("relevance-value").textContent = `λ = ${state.relevance.toFixed(2)}`;
}

function drawDocuments() {
  const mine = data.of_topic[state.topic];
  $("documents-title").textContent = "Documents with the most of this topic";
  if (!data.documents.length) { $("documents").replaceChildren(element("p", { class: "hint-text" }, "To show documents here, pass --corpus to `topmix report`.")); return; }
  const cards = mine.slice(0, state.documents).map((d) => documentCard(data.documents[d]));
  if (mine.length > state.documents) cards.push(element("button", { id: "more", onclick: () => { state.documents += 10; drawDocuments(); } }, `${mine.length - state.documents} more`));
  if (!mine.length) cards.push(element("p", {}, "No document has a large share of this topic."));
  $("documents").replaceChildren(...cards);
}

function documentCard(d) {
  const bar = element("div", { class: "mixture" }, ...d.topics.map(([k, share]) => element("button", { style: `width:${100 * share}%`, hue: hue(k), title: `${titleOf(k)}: ${percent(share)} (${topWords[k].slice(0, 4).join(" ")})`, "aria-label": `Topic ${k}, ${percent(share)}`, onclick: () => selectTopic(k) })));
  const text = element("div", { class: "text" });
  for (const [piece, k] of d.pieces) {
    if (k < 0) text.append(piece);
    else if (k === state.topic) text.append(element("mark", { title: titleOf(k) }, piece));
    else text.append(element("span", { hue: hue(k), title: titleOf(k), onclick: () => selectTopic(k) }, piece));
  }
  if (d.cut) text.append(" …");
  const node = element("article", { class: "document" }, element("div", { class: "name" }, d.name), bar, text);
  node.append(element("button", { class: "more", onclick: (e) => { e.target.textContent = node.classList.toggle("open") ? "less" : "more"; } }, "more"));
  return node;
}
