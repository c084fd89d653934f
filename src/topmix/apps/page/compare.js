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
      element("label", {}, "Topic", topicPicker({ id: "compare-a" })),
      element("label", {}, "and topic", topicPicker({ id: "compare-b" })),
      element("button", { class: "main" }, "Compare"),
    ),
    element("p", { id: "compare-facts", "aria-live": "polite" }),
    element("div", { id: "comparison" }),
  ],
  "tree",
);

const compared = { b: null }; // the number of the second topic

opened.compare = () => {
  $("compare-a").value = pickText(state.topic);
  const near = state.details?.near[0]?.[0] ?? 0;
  const b = compared.b === null ? null : followed(compared.b);
  $("compare-b").value = pickText(b === null || b === state.topic ? near : b);
  drawComparison();
};
inAddress.push(() =>
  ["compare", "tree", "training", "settings", "share"].includes(state.tab) ? { tab: state.tab } : {},
);

const drawComparison = orSay(async () => {
  const [a, b] = [pickedTopic($("compare-a")) ?? 0, pickedTopic($("compare-b")) ?? 0];
  const found = await ask("/api/compare", { a, b });
  compared.b = data.ids[b];
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
            element("th", { scope: "col" }, String(data.ids[a])),
            element("th", { scope: "col" }, String(data.ids[b])),
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
