// Topics over time and by group, as small charts with their intervals. A point opens the documents behind it.

const charts = { shown: 24, asked: 0, found: null, of: "" };

addTab(
  "charts",
  "Charts",
  [
    element(
      "form",
      { id: "charts-tools", onsubmit: (e) => e.preventDefault() },
      element("h2", {}, "Topics over time and by group"),
      element("label", {}, "Column ", element("select", { id: "charts-column", onchange: () => drawCharts() })),
      element(
        "label",
        {},
        "Sort ",
        element(
          "select",
          { id: "charts-sort", onchange: () => drawCharts() },
          element("option", { value: "size" }, "by size"),
          element("option", { value: "change" }, "by how much they differ"),
        ),
      ),
    ),
    element(
      "p",
      { class: "hint-text" },
      "The mean share of a topic in the documents of each period or group, with 95% intervals. Each chart has its own scale. Choose a point to read its documents.",
    ),
    element("div", { id: "charts" }),
    element("div", { id: "charts-more" }),
  ],
  "compare",
);
inAddress.push(() => (state.tab === "charts" ? { tab: "charts" } : {}));

opened.charts = () => {
  const columns = source.columns();
  const chosen = $("charts-column");
  if (chosen.options.length !== columns.length)
    chosen.replaceChildren(...columns.map((c) => element("option", { value: c.name }, c.name)));
  drawCharts();
};

const drawCharts = orSay(async () => {
  const asked = ++charts.asked;
  const column = $("charts-column").value;
  const of = `${live.status.version} ${column}`;
  if (charts.of !== of) {
    const found = await ask("/api/charts", { column });
    if (asked !== charts.asked) return;
    if (found.pending) {
      $("charts").replaceChildren(element("p", { class: "hint-text" }, pendingText()));
      return;
    }
    Object.assign(charts, { found, of, shown: 24 });
  }
  const { found } = charts;
  // How far the highest and the lowest are apart, in widths of their intervals.
  const differs = (k) => {
    const shares = found.share[k].filter((share) => share !== null);
    const errors = found.error[k].filter((error) => error !== null);
    const wide = errors.reduce((a, b) => a + b, 0) / Math.max(errors.length, 1);
    return (Math.max(...shares, 0) - Math.min(...shares, 1)) / Math.max(wide, 1e-6);
  };
  const all = orders.size.filter((k) => !isPoor(k));
  const order =
    $("charts-sort").value === "size"
      ? all
      : all
          .map((k) => [differs(k), k])
          .sort((a, b) => b[0] - a[0])
          .map(([, k]) => k);
  const names = periodNames(found.groups, found.is_time);
  $("charts").replaceChildren(
    ...order
      .slice(0, charts.shown)
      .map((k) =>
        element(
          "figure",
          { hue: hue(k), "data-topic": k },
          element(
            "figcaption",
            {},
            element("button", { class: "name", dir: "auto", onclick: () => showTopic(k) }, pickText(k).slice(0, 50)),
          ),
          (found.is_time ? lineChart : barChart)(k, found, names, column),
        ),
      ),
  );
  const rest = order.length - charts.shown;
  $("charts-more").replaceChildren(
    ...(rest > 0
      ? [
          element(
            "button",
            {
              onclick: () => {
                charts.shown += 48;
                drawCharts();
              },
            },
            `${number.format(rest)} more`,
          ),
        ]
      : []),
  );
});

// Documents of a topic in one period or group.
function openGroup(k, column, name) {
  $("find-words").value = "";
  $("find-topic").value = pickText(k);
  drawColumns();
  $("find-column").value = column;
  $("find-value").value = name;
  search.offset = 0;
  $("found-cards").replaceChildren(); // so that opening the tab finds others
  openTab("documents");
}

// A mark that can be chosen by click and by keyboard.
const chartPoint = (tag, attributes, said, choose) => {
  const node = element(`svg:${tag}`, {
    ...attributes,
    role: "button",
    tabindex: 0,
    "aria-label": said,
    onclick: choose,
    onkeydown: (e) => {
      if (e.key === "Enter") choose();
    },
  });
  node.append(element("svg:title", {}, said));
  return node;
};
const saidOf = (name, n, share, error) =>
  `${name}: ${percent(share)}${error === null ? "" : ` ± ${percent(error)}`} of ${number.format(n)} documents`;

function lineChart(k, found, names, column) {
  const [W, H, L, B, T] = [300, 130, 44, 20, 8];
  const { share, error } = { share: found.share[k], error: found.error[k] };
  const top = Math.max(...share.map((s, i) => (s ?? 0) + (error[i] ?? 0)), 1e-6);
  const x = (i) => L + (share.length > 1 ? i / (share.length - 1) : 0.5) * (W - L - 10);
  const y = (s) => T + (1 - Math.min(Math.max(s / top, 0), 1)) * (H - B - T);
  const svg = element("svg:svg", { viewBox: `0 0 ${W} ${H}`, role: "group", "aria-label": titleOf(k), class: "chart" });
  for (const part of [0, 0.5, 1])
    svg.append(
      element("svg:line", { class: "axis", x1: L, x2: W - 10, y1: y(part * top), y2: y(part * top) }),
      element("svg:text", { x: L - 5, y: y(part * top) + 4, "text-anchor": "end" }, part ? percent(part * top) : "0"),
    );
  const known = share.flatMap((s, i) => (s === null ? [] : [i]));
  const at = (i, s) => `${x(i).toFixed(1)} ${y(s).toFixed(1)}`;
  const upper = known.map((i) => at(i, share[i] + (error[i] ?? 0)));
  const lower = known.map((i) => at(i, share[i] - (error[i] ?? 0))).toReversed();
  svg.append(
    element("svg:path", { class: "band", d: `M${[...upper, ...lower].join("L")}Z` }),
    element("svg:path", { class: "line", d: `M${known.map((i) => at(i, share[i])).join("L")}` }),
  );
  const every = Math.max(1, Math.ceil(names.length / 4));
  names.forEach((name, i) => {
    if (i % every === 0 && i + every / 2 < names.length)
      svg.append(element("svg:text", { x: x(i), y: H - 5, "text-anchor": i === 0 ? "start" : "middle" }, name));
  });
  for (const i of known)
    svg.append(
      chartPoint(
        "circle",
        { cx: x(i), cy: y(share[i]), r: 3.4 },
        saidOf(names[i], found.n[i], share[i], error[i]),
        () => openGroup(k, column, names[i]),
      ),
    );
  return svg;
}

function barChart(k, found, names, column) {
  const shareOf = (g) => found.share[k][g] ?? 0;
  const most = [...names.keys()].sort((g, h) => found.n[h] - found.n[g]).slice(0, 20);
  const order = most
    .sort((g, h) => shareOf(h) - shareOf(g))
    .filter((g, i) => i < 8 && (i === 0 || shareOf(g) > 0.0005));
  const ROW = 15;
  const [W, L] = [300, 104];
  const top = Math.max(...order.map((g) => (found.share[k][g] ?? 0) + (found.error[k][g] ?? 0)), 1e-6);
  const x = (s) => L + Math.min(Math.max(s / top, 0), 1) * (W - L - 44);
  const svg = element("svg:svg", {
    viewBox: `0 0 ${W} ${order.length * ROW + 4}`,
    role: "group",
    "aria-label": titleOf(k),
    class: "chart",
  });
  order.forEach((g, i) => {
    const [s, e, y] = [shareOf(g), found.error[k][g] ?? 0, i * ROW + 2];
    const name = names[g].length > 15 ? `${names[g].slice(0, 14)}…` : names[g];
    svg.append(
      element("svg:text", { x: L - 6, y: y + 11, "text-anchor": "end" }, name),
      chartPoint(
        "rect",
        { x: L, y, width: Math.max(x(s) - L, 1.5), height: ROW - 4 },
        saidOf(names[g], found.n[g], s, found.error[k][g]),
        () => openGroup(k, column, names[g]),
      ),
      element("svg:line", { class: "error", x1: x(s - e), x2: x(s + e), y1: y + (ROW - 4) / 2, y2: y + (ROW - 4) / 2 }),
      element("svg:text", { x: x(s + e) + 4, y: y + 11 }, percent(s)),
    );
  });
  return svg;
}
