// Two topics side by side: words that tell them apart, and words that they share.

addTab(
  "compare",
  "Compare",
  [
    element("h2", {}, "Two topics side by side"),
    element(
      "form",
      {
        id: "compare-form",
        onsubmit: (e) => {
          e.preventDefault();
          drawComparison();
        },
      },
      element("label", {}, "Topic", element("input", { id: "compare-a", type: "number", min: 0, value: 0 })),
      element("label", {}, "and topic", element("input", { id: "compare-b", type: "number", min: 0, value: 1 })),
      element("button", { class: "main" }, "Compare"),
    ),
    element("p", { id: "compare-facts", "aria-live": "polite" }),
    element("div", { id: "comparison" }),
  ],
  "tree",
);

opened.compare = () => {
  if (state.topic !== Number($("compare-a").value)) $("compare-a").value = state.topic;
  if ($("compare-a").value === $("compare-b").value || Number($("compare-b").value) >= K)
    $("compare-b").value = state.details?.near[0]?.[0] ?? 0;
  drawComparison();
};
inAddress.push(() =>
  ["compare", "tree", "training", "settings", "share"].includes(state.tab) ? { tab: state.tab } : {},
);

const drawComparison = orSay(async () => {
  const found = await ask("/api/compare", { a: $("compare-a").value, b: $("compare-b").value });
  const { a, b } = found;
  const table = (title, rows, side) => {
    const most = Math.max(...rows.map((r) => Math.max(r[1], r[2])), 1e-12);
    const line = ([word, p, q]) =>
      element(
        "tr",
        {},
        element("th", { scope: "row", dir: "auto" }, word),
        ...[
          [p, a],
          [q, b],
        ].map(([x, k]) =>
          element("td", { hue: hue(k) }, element("i", { style: `width:${((45 * x) / most).toFixed(1)}%` }), percent(x)),
        ),
      );
    return element(
      "section",
      { class: side },
      element("h3", {}, title),
      element(
        "table",
        {},
        element(
          "thead",
          {},
          element(
            "tr",
            {},
            element("th", { scope: "col" }, "word"),
            element("th", { scope: "col" }, String(a)),
            element("th", { scope: "col" }, String(b)),
          ),
        ),
        element("tbody", {}, ...rows.map(line)),
      ),
    );
  };
  $("compare-facts").textContent =
    `“${titleOf(a)}” and “${titleOf(b)}” have the Hellinger distance ${found.distance}: ` +
    "0 is the same, 1 is no word in common.";
  $("comparison").replaceChildren(
    table(`More in ${titleOf(a)}`, found.first, "first"),
    table("In both", found.both, "both"),
    table(`More in ${titleOf(b)}`, found.second, "second"),
  );
});
