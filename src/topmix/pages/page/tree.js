// The tree of topics: near topics are joined first. Where two branches meet is their distance.

async function drawTree() {
  const isNarrow = innerWidth < 700;
  const W = isNarrow ? 400 : 900;
  const RIGHT = isNarrow ? 150 : 430;
  const ROW = 24;
  const TOP = 34;
  const LEFT = 20;
  const { order, joins } = await source.tree();
  if (!joins.length) {
    $("tree").replaceChildren();
    $("tree-facts").textContent = order.length
      ? "There are too many topics for a tree."
      : "A tree needs two topics that are not empty.";
    return;
  }
  const far = joins.at(-1).distance || 1;
  const x = (d) => RIGHT - (d / far) * (RIGHT - LEFT);
  const place = new Map(order.map((k, i) => [k, { x: RIGHT, y: TOP + i * ROW, topics: [k] }]));
  const about =
    "Topics with the same words are joined first. Point at a join to see its words; choose a topic to open it.";
  const svg = element("svg:svg", {
    viewBox: `0 0 ${W} ${TOP + order.length * ROW}`,
    role: "group",
    "aria-label": "Tree of topics",
  });
  for (let d = 0; d <= far; d += 0.2) {
    svg.append(
      element("svg:line", { class: "axis", x1: x(d), x2: x(d), y1: TOP - 12, y2: TOP + (order.length - 0.5) * ROW }),
      element("svg:text", { x: x(d), y: 14, "text-anchor": "middle" }, d.toFixed(1)),
    );
  }
  const dots = [];
  for (const join of joins) {
    const a = place.get(join.left);
    const b = place.get(join.right);
    const at = x(join.distance);
    const y = (a.y + b.y) / 2;
    const topics = [...a.topics, ...b.topics];
    const said =
      `${join.words.join(" ")} · ${topics.length} topics, ${percent(join.share)}, ` +
      `distance ${join.distance.toFixed(2)}`;
    svg.append(element("svg:path", { d: `M${a.x} ${a.y}H${at}V${b.y}H${b.x}` }));
    const show = () => {
      $("tree-facts").textContent = said;
      for (const row of svg.querySelectorAll("[data-topic]"))
        row.classList.toggle("inside", topics.includes(Number(row.dataset.topic)));
    };
    const hide = () => {
      $("tree-facts").textContent = about;
      for (const row of svg.querySelectorAll(".inside")) row.classList.remove("inside");
    };
    const dot = element("svg:circle", {
      cx: at,
      cy: y,
      r: 4.5,
      tabindex: 0,
      role: "img",
      "aria-label": said,
      onmouseenter: show,
      onmouseleave: hide,
      onfocus: show,
      onblur: hide,
    });
    dot.append(element("svg:title", {}, said));
    dots.push(dot);
    place.set(join.node, { x: at, y, topics });
  }
  svg.append(...dots);
  for (const k of order) {
    const row = element("svg:g", {
      "data-topic": k,
      role: "link",
      tabindex: 0,
      onclick: () => showTopic(k),
      onkeydown: (e) => {
        if (e.key === "Enter") showTopic(k);
      },
    });
    const best = data.names[k] ?? topWords[k].slice(0, isNarrow ? 3 : 6).join(" ");
    row.append(
      element(
        "svg:text",
        { class: "number", x: RIGHT + (isNarrow ? 28 : 38), y: place.get(k).y + 5, "text-anchor": "end" },
        String(data.ids[k]),
      ),
      element(
        "svg:text",
        { class: "said", x: RIGHT + (isNarrow ? 36 : 50), y: place.get(k).y + 5 },
        best.slice(0, isNarrow ? 30 : 80),
      ),
    );
    svg.append(row);
  }
  $("tree").replaceChildren(svg);
  $("tree-facts").textContent = about;
}
