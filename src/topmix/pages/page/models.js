// Another model beside this one: topics that correspond, nearest first, and those without a partner.

addTab(
  "models",
  "Models",
  [
    element("h2", {}, "Two models side by side"),
    element("p", { id: "models-facts", class: "hint-text", "aria-live": "polite" }),
    element(
      "table",
      { id: "models" },
      element(
        "thead",
        {},
        element(
          "tr",
          {},
          ...["this model", "", "similar", "the other", ""].map((t) => element("th", { scope: "col" }, t)),
        ),
      ),
      element("tbody"),
    ),
  ],
  "tree",
);

opened.models = orSay(async () => {
  const found = await ask("/api/other");
  const nearest = found.pairs.filter((p) => p[2] !== null);
  const mean = nearest.reduce((sum, p) => sum + 1 - p[2], 0) / Math.max(nearest.length, 1);
  $("models-facts").textContent =
    `Topics of this model and of “${found.title}”, paired so that they are nearest in all; ` +
    `the mean similarity is ${percent(mean)}. ${percent(found.shared)} of the tokens are of words that both know.`;
  const side = (part, k, name, words, share, open) =>
    k === null
      ? [element("td", { class: "none", colspan: 2 }, part ? "↳ the same" : "no partner")]
      : [
          element(
            "th",
            { scope: "row" },
            open ? element("button", { class: "chip", onclick: () => showTopic(k) }, String(data.ids[k])) : String(k),
            ` ${percent(share)}`,
          ),
          element("td", { dir: "auto" }, name ? element("b", {}, `${name} `) : null, words.slice(0, 8).join(" ")),
        ];
  // Each pair, and below it topics of either model that are parts of one of the two.
  const isPart = (k, j) => found.parts.some(([a, b]) => (j === null && a === k) || (k === null && b === j));
  const pairs = found.pairs.filter(([k, j]) => (k !== null && j !== null) || !isPart(k, j));
  const rows = [];
  for (const [k, j, distance] of pairs) {
    rows.push([k, j, distance, false]);
    for (const [a, b, near] of found.parts)
      if ((a === k) !== (b === j)) rows.push([a === k ? null : a, b === j ? null : b, near, true]);
  }
  $("models").tBodies[0].replaceChildren(
    ...rows.map(([k, j, distance, part]) =>
      element(
        "tr",
        part ? { class: "part" } : {},
        ...side(part, k, data.names[k], topWords[k] ?? [], data.share[k], true),
        element(
          "td",
          { class: "similar", hue: k === null ? "var(--soft)" : hue(k) },
          distance === null ? "–" : element("i", { style: `width:${50 * (1 - distance)}%` }),
          distance === null ? null : percent(1 - distance),
        ),
        ...side(part, j, found.names[j], found.labels[j] ?? [], found.share[j], false),
      ),
    ),
  );
});
inAddress.push(() => (state.tab === "models" ? { tab: "models" } : {}));
