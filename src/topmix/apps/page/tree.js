// The tree of topics: near topics are joined first. Where two branches meet is their distance. Branches fold.

const TREE_ROWS = 40; // that are shown before somebody opens more
const treeFolds = { of: "", open: new Set() }; // joins that show both their sides

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
  const ids = joins.map((join) => join.node).join(" ");
  if (treeFolds.of !== ids)
    Object.assign(treeFolds, { of: ids, open: new Set(joins.slice(1 - TREE_ROWS).map((j) => j.node)) });
  const joinOf = new Map(joins.map((join) => [join.node, join]));
  const rows = []; // topics, and joins that are folded
  (function visit(node) {
    const join = joinOf.get(node);
    if (join === undefined || !treeFolds.open.has(node)) rows.push(node);
    else {
      visit(join.left);
      visit(join.right);
    }
  })(joins.at(-1).node);
  const topicsOf = (node) =>
    joinOf.has(node) ? [joinOf.get(node).left, joinOf.get(node).right].flatMap(topicsOf) : [node];
  const toggle = (node) => {
    if (!treeFolds.open.delete(node)) treeFolds.open.add(node);
    drawTree();
  };
  const open = joins.filter((join) => treeFolds.open.has(join.node) && !rows.includes(join.node));
  const seen = open.filter((join) => {
    for (let node = join.node; ;) {
      const above = joins.find((j) => j.left === node || j.right === node);
      if (above === undefined) return true;
      if (!treeFolds.open.has(above.node)) return false;
      node = above.node;
    }
  });
  const far = joins.at(-1).distance || 1;
  const near = Math.floor(10 * Math.min(...seen.map((join) => join.distance), far)) / 10; // the axis begins at the first join
  const x = (d) => RIGHT - 12 - ((d - near) / Math.max(far - near, 1e-9)) * (RIGHT - 12 - LEFT);
  const place = new Map(rows.map((node, i) => [node, { x: RIGHT, y: TOP + i * ROW, topics: topicsOf(node) }]));
  const about =
    "Topics with the same words are joined first. Point at a join to see its words, choose it to fold it; choose a topic to open it.";
  const svg = element("svg:svg", {
    viewBox: `0 0 ${W} ${TOP + rows.length * ROW}`,
    role: "group",
    "aria-label": "Tree of topics",
  });
  for (let d = near; d <= far + 1e-9; d += far - near > 0.5 ? 0.2 : 0.1) {
    svg.append(
      element("svg:line", { class: "axis", x1: x(d), x2: x(d), y1: TOP - 12, y2: TOP + (rows.length - 0.5) * ROW }),
      element("svg:text", { x: x(d), y: 14, "text-anchor": "middle" }, d.toFixed(1)),
    );
  }
  const dots = [];
  for (const join of seen) {
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
      role: "button",
      "aria-label": `Fold ${said}`,
      onclick: () => toggle(join.node),
      onkeydown: (e) => {
        if (e.key === "Enter") toggle(join.node);
      },
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
  for (const node of rows) {
    const join = joinOf.get(node);
    const choose = () => (join === undefined ? showTopic(node) : toggle(node));
    const row = element("svg:g", {
      "data-topic": join === undefined ? node : null,
      "data-node": join === undefined ? null : node,
      role: join === undefined ? "link" : "button",
      tabindex: 0,
      onclick: choose,
      onkeydown: (e) => {
        if (e.key === "Enter") choose();
      },
    });
    const said =
      join === undefined
        ? (data.names[node] ?? topWords[node].slice(0, isNarrow ? 3 : 6).join(" "))
        : join.words.slice(0, isNarrow ? 2 : 5).join(" ");
    row.append(
      element(
        "svg:text",
        { class: "number", x: RIGHT + (isNarrow ? 28 : 38), y: place.get(node).y + 5, "text-anchor": "end" },
        join === undefined ? String(data.ids[node]) : "▸",
      ),
      element(
        "svg:text",
        { class: "said", x: RIGHT + (isNarrow ? 36 : 50), y: place.get(node).y + 5 },
        (join === undefined ? said : `${said} · ${place.get(node).topics.length} topics`).slice(0, isNarrow ? 30 : 80),
      ),
    );
    svg.append(row);
  }
  $("tree").replaceChildren(svg);
  $("tree-facts").textContent = about;
}
