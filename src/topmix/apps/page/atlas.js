// A map of all documents: each lies between the places of its topics. A lasso takes documents to a list.

const POINT = 2; // pixels
const atlas = {
  version: -1, // of the state that the arrays belong to
  x: new Float32Array(),
  y: new Float32Array(),
  colour: new Uint32Array(), // per document, as pixels have it
  image: null, // painted again for each frame
  box: { x: -1, y: -1, w: 2, h: 2 },
  line: [], // of the lasso, in pixels
  rows: [], // documents of the list
  offset: 0,
  moves: false, // dragging moves the map, instead of drawing a lasso
};
const plane = element("canvas", { id: "atlas-plane", role: "img", "aria-label": "Map of documents" });

addTab(
  "atlas",
  "Map",
  [
    element(
      "form",
      { id: "atlas-tools", onsubmit: (e) => e.preventDefault() },
      element("label", {}, "Colour by ", element("select", { id: "atlas-by", onchange: () => colourAtlas() })),
      element(
        "label",
        {},
        element("input", {
          id: "atlas-moves",
          type: "checkbox",
          onchange: (e) => {
            atlas.moves = e.target.checked;
          },
        }),
        " drag to move",
      ),
      element(
        "span",
        { class: "together" },
        element(
          "button",
          { type: "button", id: "atlas-in", "aria-label": "Closer", onclick: () => zoomAtlas(0.7) },
          "+",
        ),
        element(
          "button",
          { type: "button", id: "atlas-out", "aria-label": "Further", onclick: () => zoomAtlas(1 / 0.7) },
          "−",
        ),
        element("button", { type: "button", id: "atlas-all", onclick: () => fitAtlas() }, "All"),
      ),
      element("button", { type: "button", id: "atlas-list", onclick: () => takeSeen() }, "List what is seen"),
      element("span", { id: "atlas-legend" }),
    ),
    element(
      "div",
      { id: "atlas" },
      element("div", { id: "atlas-frame" }, plane, element("div", { id: "atlas-tip", hidden: "" })),
      element(
        "section",
        { id: "atlas-found", "aria-label": "Documents that were chosen" },
        element("p", { id: "atlas-facts", "aria-live": "polite" }),
        element("div", { id: "atlas-cards" }),
      ),
    ),
  ],
  "compare",
);
inAddress.push(() => (state.tab === "atlas" ? { tab: "atlas" } : {}));

opened.atlas = orSay(async () => {
  const by = $("atlas-by");
  const columns = source.columns();
  if (by.options.length !== columns.length + 1)
    by.replaceChildren(
      element("option", { value: "" }, "topic"),
      ...columns.map((c) => element("option", { value: c.name }, c.name)),
    );
  if (atlas.version !== live.status.version) {
    const asked = live.status.version;
    const found = await ask("/api/places");
    if (found.pending) {
      $("atlas-facts").textContent = pendingText();
      return;
    }
    const isFirst = atlas.version < 0;
    Object.assign(atlas, {
      version: asked,
      x: unpack(found.x, Float32Array),
      y: unpack(found.y, Float32Array),
      topic: unpack(found.topic, Int32Array),
    });
    if (isFirst) wholeAtlas();
    if (!atlas.rows.length) $("atlas-facts").textContent = "Draw a line around documents to list them.";
  }
  await colourAtlas();
});

// What a colour is as a pixel.
const asPixel = (() => {
  const context = element("canvas").getContext("2d", { willReadFrequently: true });
  return (colour) => {
    context.fillStyle = colour;
    context.fillRect(0, 0, 1, 1);
    return new Uint32Array(context.getImageData(0, 0, 1, 1).data.buffer)[0];
  };
})();

async function colourAtlas() {
  const name = $("atlas-by").value;
  const style = getComputedStyle(document.documentElement);
  const [sat, light, line] = ["--sat", "--light", "--line"].map((v) => style.getPropertyValue(v));
  const none = asPixel(line);
  let of = atlas.topic;
  let colours = (angle ?? []).map((a) => asPixel(`hsl(${a.toFixed(0)} ${sat} ${light})`));
  $("atlas-legend").replaceChildren();
  if (name !== "") {
    const found = await ask("/api/column", { name });
    of = unpack(found.groups, Int32Array);
    const n = found.names.length;
    const css = found.names.map((_, g) => {
      if (!found.is_time && n <= OWN.length) return OWN[g];
      return found.is_time
        ? `hsl(${260 - (210 * g) / Math.max(n - 1, 1)} 65% ${light})`
        : `hsl(${(360 * g) / n} ${sat} ${light})`;
    });
    colours = css.map(asPixel);
    const shown = found.is_time && n > 2 ? [0, n - 1] : [...css.keys()].slice(0, 12);
    $("atlas-legend").replaceChildren(
      ...shown.map((g) =>
        element("span", { class: "key", hue: css[g], dir: "auto" }, element("i"), found.names[g].slice(0, 30)),
      ),
    );
  }
  atlas.colour = Uint32Array.from(of, (g) => (g < 0 ? none : colours[g]));
  drawAtlas();
}

// All points, and a margin.
function wholeAtlas() {
  const ends = (values) => values.reduce(([a, b], v) => [Math.min(a, v), Math.max(b, v)], [Infinity, -Infinity]);
  if (!atlas.x.length) return;
  const [[left, right], [low, high]] = [ends(atlas.x), ends(atlas.y)];
  const margin = 0.03 * Math.max(right - left, high - low, 1e-6);
  Object.assign(atlas.box, {
    x: left - margin,
    y: -high - margin,
    w: right - left + 2 * margin,
    h: high - low + 2 * margin,
  });
}
function fitAtlas() {
  wholeAtlas();
  drawAtlas();
}

// Where a document is on the canvas, in its pixels.
function atlasView() {
  const unit = Math.max(atlas.box.w / plane.width, atlas.box.h / plane.height);
  const left = atlas.box.x + (atlas.box.w - unit * plane.width) / 2;
  const upper = atlas.box.y + (atlas.box.h - unit * plane.height) / 2;
  return { unit, x: (d) => (atlas.x[d] - left) / unit, y: (d) => (-atlas.y[d] - upper) / unit, left, upper };
}

// Names of regions, as on the map of topics; of few topics, their own.
function atlasNames() {
  if (data.x === null) return [];
  if (regions.length) return regions;
  const some = orders.size.slice(0, 12);
  return some.map((k) => ({ words: labelOf(k).slice(0, 30), x: data.x[k], y: -data.y[k] }));
}

let atlasFrame = 0;
function drawAtlas() {
  cancelAnimationFrame(atlasFrame);
  atlasFrame = requestAnimationFrame(paintAtlas);
}

// Pixel by pixel: a hundred thousand points take milliseconds.
function paintAtlas() {
  const ratio = devicePixelRatio || 1;
  const [wide, high] = [plane.clientWidth, plane.clientHeight].map((v) => Math.max(Math.round(v * ratio), 1));
  if (plane.width !== wide || plane.height !== high) Object.assign(plane, { width: wide, height: high });
  const context = plane.getContext("2d");
  if (atlas.image?.width !== wide || atlas.image.height !== high) atlas.image = context.createImageData(wide, high);
  const pixels = new Uint32Array(atlas.image.data.buffer).fill(0);
  const { unit, left, upper } = atlasView();
  const n = atlas.colour.length;
  const size = Math.max(1, Math.round(POINT * ratio * Math.min(3, Math.max(1, Math.sqrt(4000 / Math.max(n, 1))))));
  const { x: across, y: up, colour } = atlas;
  for (let d = 0; d < n; d++) {
    const x = ((across[d] - left) / unit - size / 2) | 0;
    const y = ((-up[d] - upper) / unit - size / 2) | 0;
    if (x < 0 || y < 0 || x + size > wide || y + size > high) continue;
    let at = y * wide + x;
    for (let i = 0; i < size; i++, at += wide) for (let j = 0; j < size; j++) pixels[at + j] = colour[d];
  }
  context.putImageData(atlas.image, 0, 0);
  const size2 = 14 * ratio;
  Object.assign(context, { font: `600 ${size2}px system-ui, sans-serif`, textAlign: "center", lineJoin: "round" });
  const style = getComputedStyle(document.documentElement);
  const taken = []; // a name that would cover another is left out
  for (const { words, x, y } of atlasNames()) {
    context.lineWidth = 4 * ratio;
    context.strokeStyle = style.getPropertyValue("--ground");
    context.fillStyle = style.getPropertyValue("--ink");
    const at = [(x - left) / unit, (y - upper) / unit];
    if (at[0] < 0 || at[0] > wide || at[1] < 0 || at[1] > high) continue;
    const half = context.measureText(words).width / 2;
    at[0] = Math.min(Math.max(at[0], half + size2 / 2), wide - half - size2 / 2); // none is cut by the edge
    if (taken.some((t) => Math.abs(t.x - at[0]) < t.half + half && Math.abs(t.y - at[1]) < size2)) continue;
    taken.push({ words, x: at[0], y: at[1], half });
    context.strokeText(words, ...at);
    context.fillText(words, ...at);
  }
  plane.dataset.names = JSON.stringify(taken.map(({ words, x, half }) => [words, x - half, x + half]));
  if (atlas.line.length > 1) {
    context.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue("--ink");
    context.lineWidth = 1.5 * ratio;
    context.beginPath();
    for (const [x, y] of atlas.line) context.lineTo(x, y);
    context.closePath();
    context.stroke();
  }
  plane.dataset.points = n; // are drawn
}

const atlasPoint = (e) => {
  const frame = plane.getBoundingClientRect();
  const ratio = plane.width / frame.width;
  return [(e.clientX - frame.left) * ratio, (e.clientY - frame.top) * ratio];
};

function zoomAtlas(by, [px, py] = [plane.width / 2, plane.height / 2]) {
  const { unit, left, upper } = atlasView();
  const [x, y] = [left + px * unit, upper + py * unit];
  const { box: seen } = atlas;
  Object.assign(seen, { x: x - (x - seen.x) * by, y: y - (y - seen.y) * by, w: seen.w * by, h: seen.h * by });
  drawAtlas();
}
plane.addEventListener(
  "wheel",
  (e) => {
    e.preventDefault();
    zoomAtlas(Math.exp(Math.max(-60, Math.min(60, e.deltaY)) * 0.003), atlasPoint(e));
  },
  { passive: false },
);

// The document under the pointer; null where there is none near.
function nearestDocument([px, py]) {
  const view = atlasView();
  let best = null;
  let least = (8 * (devicePixelRatio || 1)) ** 2;
  for (let d = 0; d < atlas.x.length; d++) {
    const far = (view.x(d) - px) ** 2 + (view.y(d) - py) ** 2;
    if (far < least) [best, least] = [d, far];
  }
  return best;
}

let dragged = null;
plane.addEventListener("pointerdown", (e) => {
  plane.setPointerCapture(e.pointerId);
  dragged = { from: atlasPoint(e), far: 0 };
  atlas.line = atlas.moves ? [] : [dragged.from];
});
plane.addEventListener("pointermove", (e) => {
  const at = atlasPoint(e);
  if (dragged === null) {
    const d = nearestDocument(at);
    const tip = $("atlas-tip");
    tip.hidden = d === null;
    if (d !== null) {
      const k = atlas.topic[d];
      tip.textContent = `document ${d}${k < 0 ? "" : ` · ${labelOf(k).slice(0, 60)}`}`;
      const frame = plane.getBoundingClientRect();
      tip.style.left = `${Math.min(e.clientX - frame.left + 12, frame.width - tip.offsetWidth - 6)}px`;
      tip.style.top = `${e.clientY - frame.top + 12}px`;
    }
    return;
  }
  dragged.far = Math.max(dragged.far, Math.hypot(at[0] - dragged.from[0], at[1] - dragged.from[1]));
  if (atlas.moves) {
    const { unit } = atlasView();
    atlas.box.x -= (at[0] - dragged.from[0]) * unit;
    atlas.box.y -= (at[1] - dragged.from[1]) * unit;
    dragged.from = at;
  } else atlas.line.push(at);
  drawAtlas();
});
plane.addEventListener("pointerup", (e) => {
  if (dragged === null) return;
  const wasClick = dragged.far < 6;
  dragged = null;
  if (wasClick) {
    atlas.line = [];
    const d = nearestDocument(atlasPoint(e));
    if (d !== null) actions.read(d);
  } else if (!atlas.moves) takeInside(atlas.line);
  drawAtlas();
});
plane.addEventListener("pointerleave", () => {
  $("atlas-tip").hidden = true;
});

// Documents inside of a closed line: a ray from each to the left crosses it an odd number of times.
function takeInside(line) {
  const view = atlasView();
  const rows = [];
  for (let d = 0; d < atlas.x.length; d++) {
    const [px, py] = [view.x(d), view.y(d)];
    let is = false;
    for (let i = 0, j = line.length - 1; i < line.length; j = i++) {
      const [[ax, ay], [bx, by]] = [line[i], line[j]];
      if (ay > py !== by > py && px < ((bx - ax) * (py - ay)) / (by - ay) + ax) is = !is;
    }
    if (is) rows.push(d);
  }
  listRows(rows);
}
function takeSeen() {
  atlas.line = [];
  takeInside([
    [0, 0],
    [plane.width, 0],
    [plane.width, plane.height],
    [0, plane.height],
  ]);
  drawAtlas();
}

function listRows(rows) {
  Object.assign(atlas, { rows, offset: 0 });
  showRows();
}
const showRows = orSay(async () => {
  const { rows, offset } = atlas;
  const count = new Map();
  for (const d of rows) if (atlas.topic[d] >= 0) count.set(atlas.topic[d], (count.get(atlas.topic[d]) ?? 0) + 1);
  const most = [...count].sort((a, b) => b[1] - a[1]).slice(0, 3);
  $("atlas-facts").textContent = rows.length
    ? `${number.format(rows.length)} documents, mostly of ${most.map(([k]) => labelOf(k).slice(0, 40)).join(", ")}`
    : "No document is inside.";
  const page = rows.slice(offset, offset + 20);
  const found = page.length ? (await ask("/api/cards", { rows: page.join(",") })).documents : [];
  if (atlas.rows !== rows || atlas.offset !== offset) return;
  const move = (by, text) =>
    element(
      "button",
      {
        onclick: () => {
          atlas.offset += by;
          showRows();
        },
      },
      text,
    );
  $("atlas-cards").replaceChildren(
    ...found.map((d) => foundCard(d, () => actions.read(d.row))),
    ...(offset > 0 ? [move(-20, "← previous")] : []),
    ...(offset + 20 < rows.length ? [move(20, "next →")] : []),
  );
});

addEventListener("resize", () => {
  if (state.tab === "atlas") drawAtlas();
});
$("theme").addEventListener("click", () => {
  if (state.tab === "atlas") colourAtlas();
});
