// The map of topics: circles, labels, zoom and drag.

const map = $("map");
const circles = [];
const radius = (k) => Math.max(Math.sqrt(data.share[k] * 0.3), 0.006);
const box = { x: -1.2, y: -1.2, w: 2.4 };

// Circles keep their topic, so that they glide where positions change.
function drawMap() {
  if (circles.length !== K) {
    circles.length = 0;
    map.replaceChildren();
    for (const k of orders.size) {
      // large circles first, so that small circles lie on top and can be clicked
      circles[k] = element("svg:circle", {
        "data-topic": k,
        onclick: () => {
          if (!drag.moved) selectTopic(k);
        },
        onpointerenter: (e) => showTip(k, e),
        onpointermove: (e) => showTip(k, e),
        onpointerleave: () => {
          $("tip").hidden = true;
        },
      });
      map.append(circles[k]);
    }
    map.append(element("svg:g", { id: "labels" }));
  }
  for (let k = 0; k < K; k++) {
    circles[k].style.fill = hue(k);
    circles[k].classList.toggle("chosen", k === state.topic);
  }
  glide();
  updateMap();
}

// By hand: a transition of each circle would keep thousands of animations and layers, which are hundreds of megabytes.
const gliding = { at: [], frame: 0 };
function glide() {
  cancelAnimationFrame(gliding.frame);
  const to = circles.map((_, k) => [data.x[k], -data.y[k], radius(k)]);
  const from = gliding.at;
  const begin = performance.now();
  const place = (t) => {
    gliding.at = to.map((end, k) => (t >= 1 ? end : end.map((v, i) => from[k][i] + (v - from[k][i]) * t)));
    gliding.at.forEach(([x, y, r], k) => {
      circles[k].setAttribute("cx", x.toFixed(4));
      circles[k].setAttribute("cy", y.toFixed(4));
      circles[k].setAttribute("r", r.toFixed(4));
    });
  };
  const step = (now) => {
    const t = Math.min(Math.max((now - begin) / 700, 0), 1);
    place(t * t * (3 - 2 * t));
    if (t < 1) gliding.frame = requestAnimationFrame(step);
  };
  if (from.length !== K || K > 3000 || document.hidden || matchMedia("(prefers-reduced-motion: reduce)").matches)
    place(1);
  else gliding.frame = requestAnimationFrame(step);
}

function updateMap() {
  const wide = map.clientWidth || 800;
  const high = map.clientHeight || 600;
  const w = wide >= high ? (box.w * wide) / high : box.w;
  const h = wide >= high ? box.w : (box.w * high) / wide;
  const seen = `${box.x + (box.w - w) / 2} ${box.y + (box.w - h) / 2} ${w} ${h}`;
  if (map.getAttribute("viewBox") !== seen) map.setAttribute("viewBox", seen); // setting it paints everything again
  const unit = w / wide;
  const size = 12.5 * unit;
  const taken = [];
  const labels = [];
  const left = box.x + (box.w - w) / 2;
  const upper = box.y + (box.w - h) / 2;
  const first = state.word === null ? [state.topic] : state.wordTopics.map(([k]) => k);
  for (const k of [...first, ...orders.size]) {
    // largest topics first, as many labels as fit without overlap
    const y = -data.y[k];
    let x = data.x[k];
    if (labels.length > 60) break;
    if (
      (data.share[k] < 0.2 / K && !first.includes(k)) ||
      x < left ||
      x > left + w ||
      y < upper ||
      y > upper + h ||
      labels.some((l) => l.k === k)
    )
      continue;
    const whole = labelOf(k);
    const text = whole.length > 36 ? whole.slice(0, 35) + "…" : whole;
    const half = text.length * size * 0.29;
    x = Math.min(Math.max(x, left + half), left + w - half); // whole labels only
    const mine = [x - half, y - size * 0.75, x + half, y + size * 0.75];
    if (taken.some((t) => mine[0] < t[2] && mine[2] > t[0] && mine[1] < t[3] && mine[3] > t[1])) continue;
    taken.push(mine);
    labels.push({ k, node: element("svg:text", { x, y: y + size * 0.34, "font-size": size }, text) });
  }
  map.querySelector("#labels").replaceChildren(...labels.map((l) => l.node));
}

function showTip(k, event) {
  const node = $("tip");
  const frame = $("map-pane").getBoundingClientRect();
  node.replaceChildren(
    element("b", {}, titleOf(k)),
    ` ${percent(data.share[k])}`,
    element("br"),
    element("span", {}, topWords[k].join(" ")),
  );
  node.hidden = false;
  node.style.left = Math.min(event.clientX - frame.left + 14, frame.width - node.offsetWidth - 8) + "px";
  node.style.top = Math.min(event.clientY - frame.top + 14, frame.height - node.offsetHeight - 8) + "px";
}

function zoomBy(factor, x = box.x + box.w / 2, y = box.y + box.w / 2) {
  const w = Math.min(Math.max(box.w * factor, 0.06), 4);
  box.x = x - ((x - box.x) * w) / box.w;
  box.y = y - ((y - box.y) * w) / box.w;
  box.w = w;
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
  Object.assign(box, { x: -1.2, y: -1.2, w: 2.4 });
  updateMap();
};
addEventListener("resize", () => {
  if (data) {
    updateMap();
    drawList();
  }
});
