// The map of topics: circles, labels, zoom and drag.

const map = $("map");
const circles = []; // by row; a circle keeps its topic through edits
const circleOf = new Map(); // the same by the number that stays with a topic
const radius = (k) => Math.max(Math.sqrt(0.4 * data.share[k]), 0.004); // as results/topic_map.py
const isTiny = (k) => data.share[k] < 0.2 / K;
const MAP_HINT = "Topics with the same words are near each other. The area of a circle is the share of the topic.";
const NO_MAP =
  "The map of more than a hundred topics takes some seconds. During a fit it is drawn when the fit is over.";
const box = { x: -1, y: -1, w: 2, h: 2, isWhole: true }; // what is seen, at least

const isHidden = (k) => isTiny(k) && !state.tiny && k !== state.topic && !state.wordTopics.some(([j]) => j === k);

function drawMap() {
  const here = new Set(data.ids);
  for (const [id, node] of circleOf)
    if (!here.has(id)) {
      node.remove();
      circleOf.delete(id);
    }
  circles.length = 0;
  $("map-hint").textContent = data.x === null ? NO_MAP : MAP_HINT;
  if (data.x === null) {
    map.replaceChildren();
    return;
  }
  for (const k of orders.size) {
    const id = data.ids[k];
    if (!circleOf.has(id)) circleOf.set(id, newCircle());
    const node = circleOf.get(id);
    circles[k] = node;
    node.dataset.topic = k;
    node.style.fill = hue(k);
    node.classList.toggle("chosen", k === state.topic);
  }
  // Large circles first, so that small circles lie on top and can be clicked.
  const order = [...orders.size].sort((a, b) => data.share[b] - data.share[a]);
  map.replaceChildren(...order.map((k) => circles[k]), element("svg:g", { id: "labels" }));
  const n = circles.filter((_, k) => isTiny(k)).length;
  $("tiny-label").hidden = n === 0;
  $("tiny-text").textContent = `${number.format(n)} tiny topic${n === 1 ? "" : "s"}`;
  drawRegions();
  glide();
  updateMap();
}

function newCircle() {
  const row = (e) => Number(e.currentTarget.dataset.topic);
  return element("svg:circle", {
    onclick: (e) => {
      if (!drag.moved) chooseTopic(row(e));
    },
    onpointerenter: (e) => showTip(row(e), e),
    onpointermove: (e) => showTip(row(e), e),
    onpointerleave: () => {
      $("tip").hidden = true;
    },
  });
}

// By hand: a transition of each circle would keep thousands of animations and layers, which are hundreds of megabytes.
const gliding = { at: new Map(), frame: 0 };
function glide() {
  cancelAnimationFrame(gliding.frame);
  const to = data.ids.map((_, k) => [data.x[k], -data.y[k], radius(k)]);
  const from = data.ids.map((id, k) => gliding.at.get(id) ?? [to[k][0], to[k][1], 0]);
  const isFirst = gliding.at.size === 0;
  const begin = performance.now();
  const place = (t) => {
    gliding.at = new Map();
    to.forEach((end, k) => {
      const at = t >= 1 ? end : end.map((v, i) => from[k][i] + (v - from[k][i]) * t);
      gliding.at.set(data.ids[k], at);
      for (const [i, name] of ["cx", "cy", "r"].entries()) circles[k].setAttribute(name, at[i].toFixed(4));
    });
  };
  const step = (now) => {
    const t = Math.min(Math.max((now - begin) / 700, 0), 1);
    place(t * t * (3 - 2 * t));
    if (t < 1) gliding.frame = requestAnimationFrame(step);
  };
  if (isFirst || K > 3000 || document.hidden || matchMedia("(prefers-reduced-motion: reduce)").matches) place(1);
  else gliding.frame = requestAnimationFrame(step);
}

// All circles that are shown, and a margin.
function fitMap() {
  const seen = orders.number.filter((k) => !isHidden(k));
  const low = (v) => Math.min(...seen.map((k) => v[k] - radius(k)));
  const high = (v) => Math.max(...seen.map((k) => v[k] + radius(k)));
  const [x, y] = [low(data.x), -high(data.y)];
  const [w, h] = [high(data.x) - x, -low(data.y) - y];
  const margin = 0.04 * Math.max(w, h);
  Object.assign(box, { x: x - margin, y: y - margin, w: w + 2 * margin, h: h + 2 * margin });
}

// Regions of the map are large branches of the tree, named by their words.
let regions = [];
let regionsAsked = 0;
async function drawRegions() {
  const asked = ++regionsAsked;
  const found = K < 80 ? null : await source.tree().catch(() => null);
  if (asked !== regionsAsked) return;
  regions = found === null ? [] : regionsOf(found);
  updateMap();
}

function regionsOf({ joins }) {
  if (!joins.length) return [];
  const node = new Map(orders.number.map((k) => [k, { topics: [k], share: data.share[k], words: [] }]));
  for (const join of joins) {
    const sides = [node.get(join.left), node.get(join.right)];
    node.set(join.node, { sides, topics: sides.flatMap((s) => s.topics), share: join.share, words: join.words });
  }
  const found = [node.get(joins.at(-1).node)];
  const least = Math.max(3, K / 60);
  while (found.length < 12) {
    const i = found.reduce(
      (best, r, j) => (r.topics.length >= 2 * least && r.share > (found[best]?.share ?? 0) ? j : best),
      -1,
    );
    if (i < 0 || found[i].share < 0.06) break;
    const [whole] = found.splice(i, 1);
    found.push(...whole.sides.filter((side) => side.topics.length >= least));
    if (!found.length) return [];
  }
  const middle = (topics, v) =>
    topics.reduce((sum, k) => sum + data.share[k] * v[k], 0) / topics.reduce((sum, k) => sum + data.share[k], 1e-12);
  const named = found.map(({ topics, words }) => ({
    words: words.slice(0, 2).join(" "),
    x: middle(topics, data.x),
    y: -middle(topics, data.y),
    topics: new Set(topics),
  }));
  const isNamed = new Set(found.flatMap(({ topics }) => topics));
  const far = (region, k) => Math.hypot(region.x - data.x[k], region.y + data.y[k]);
  for (const k of orders.number)
    if (!isNamed.has(k)) named.reduce((a, b) => (far(b, k) < far(a, k) ? b : a)).topics.add(k); // where it lies
  return named;
}

function updateMap() {
  if (!circles.length) return;
  if (box.isWhole) fitMap();
  const wide = map.clientWidth || 800;
  const high = map.clientHeight || 600;
  const unit = Math.max(box.w / wide, box.h / high); // of the map, per pixel
  const [w, h] = [unit * wide, unit * high];
  const [left, upper] = [box.x + (box.w - w) / 2, box.y + (box.h - h) / 2];
  const seen = `${left} ${upper} ${w} ${h}`;
  if (map.getAttribute("viewBox") !== seen) map.setAttribute("viewBox", seen); // setting it paints everything again
  circles.forEach((circle, k) => circle.classList.toggle("tiny", isHidden(k)));
  const taken = [];
  const nodes = [];
  // A text where there is room for all of it, near the point that it names.
  const label = (text, x, y, size, attributes) => {
    const half = text.length * size * 0.31;
    if (x < left || x > left + w || y < upper || y > upper + h) return false;
    x = Math.min(Math.max(x, left + half), left + w - half);
    const mine = [x - half, y - size * 0.75, x + half, y + size * 0.75];
    if (taken.some((t) => mine[0] < t[2] && mine[2] > t[0] && mine[1] < t[3] && mine[3] > t[1])) return false;
    taken.push(mine);
    nodes.push(element("svg:text", { x, y: y + size * 0.34, "font-size": size, ...attributes }, text));
    return true;
  };
  const short = (text) => (text.length > 36 ? text.slice(0, 35) + "…" : text);
  const size = 12.5 * unit;
  const first = state.word === null ? [state.topic] : state.wordTopics.map(([k]) => k);
  for (const k of first) label(short(labelOf(k)), data.x[k], -data.y[k], size, { "data-of": k });
  if (box.isWhole && state.word === null)
    for (const region of regions)
      for (const shift of [0, -1.6, 1.6, -3.2, 3.2]) {
        const y = region.y + shift * 17 * unit;
        if (
          label(short(region.words), region.x, y, 17 * unit, {
            class: "region",
            "data-topics": [...region.topics].join(" "),
          })
        )
          break;
      }
  const done = new Set(first);
  for (const k of orders.size)
    if (!done.has(k) && !isTiny(k) && nodes.length < 150)
      for (const shift of data.share[k] > 1 / K ? [0, -1.4, 1.4] : [0])
        if (label(short(labelOf(k)), data.x[k], -data.y[k] + shift * size, size, { "data-of": k })) break;
  map.querySelector("#labels").replaceChildren(...nodes);
}

function showTip(k, event) {
  const node = $("tip");
  const frame = $("map-pane").getBoundingClientRect();
  const region = regions.find((r) => r.topics.has(k));
  node.replaceChildren(
    element("b", {}, titleOf(k)),
    ` ${percent(data.share[k])}${region ? ` · ${region.words}` : ""}`,
    element("br"),
    element("span", {}, topWords[k].join(" ")),
  );
  node.hidden = false;
  node.style.left = Math.min(event.clientX - frame.left + 14, frame.width - node.offsetWidth - 8) + "px";
  node.style.top = Math.min(event.clientY - frame.top + 14, frame.height - node.offsetHeight - 8) + "px";
}

function zoomBy(factor, x = box.x + box.w / 2, y = box.y + box.h / 2) {
  const by = Math.min(Math.max(box.w * factor, 0.06), 6) / box.w;
  const whole = { x: x - (x - box.x) * by, y: y - (y - box.y) * by, w: box.w * by, h: box.h * by };
  Object.assign(box, whole, { isWhole: false });
  updateMap();
}

function mapPoint(event) {
  const p = new DOMPoint(event.clientX, event.clientY).matrixTransform(map.getScreenCTM().inverse());
  return [p.x, p.y];
}

const drag = { from: null, moved: false };
map.addEventListener(
  "wheel",
  (e) => {
    e.preventDefault();
    zoomBy(Math.exp(Math.max(-60, Math.min(60, e.deltaY)) * 0.003), ...mapPoint(e));
  },
  { passive: false },
);
map.addEventListener("pointerdown", (e) => {
  drag.from = mapPoint(e);
  drag.moved = false;
});
addEventListener("pointermove", (e) => {
  if (!drag.from) return;
  const [x, y] = mapPoint(e);
  if (Math.hypot(x - drag.from[0], y - drag.from[1]) > box.w * 0.008) {
    drag.moved = true;
    map.classList.add("dragging");
  }
  if (drag.moved) {
    box.x -= x - drag.from[0];
    box.y -= y - drag.from[1];
    box.isWhole = false;
    updateMap();
  }
});
addEventListener("pointerup", () => {
  drag.from = null;
  map.classList.remove("dragging");
});
$("zoom-in").onclick = () => zoomBy(0.7);
$("zoom-out").onclick = () => zoomBy(1 / 0.7);
$("zoom-all").onclick = () => {
  box.isWhole = true;
  updateMap();
};
$("tiny").onchange = (e) => {
  state.tiny = e.target.checked;
  updateMap();
};
addEventListener("resize", () => {
  if (data) {
    updateMap();
    drawList();
  }
});
