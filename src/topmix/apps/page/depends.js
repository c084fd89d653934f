// What a topic depends on: effects of covariates, and its words in each version.

$("documents-title").before(element("section", { id: "depends", "aria-label": "What it depends on" }));

onTopic.push((k) => {
  const { effects, versions } = data.depends ?? {};
  const parts = [];
  if (effects)
    parts.push(
      element("h3", {}, "What makes it more frequent"),
      smallTable(
        ["term", "effect", "95% from", "to"],
        effects.rows[k].map((row, i) => [effects.terms[i]].concat(row.map((x) => (x === null ? "–" : x.toFixed(2))))),
      ),
    );
  if (versions)
    parts.push(
      element("h3", {}, `Its words by ${versions.column}`),
      smallTable(
        ["", "share", "words"],
        versions.names.map((name, t) => [name, percent(versions.share[k][t]), versions.words[k][t].join(" ")]),
      ),
    );
  $("depends").hidden = !parts.length;
  $("depends").replaceChildren(...parts);
});

function smallTable(headings, rows) {
  const line = (tag, cells) => element("tr", {}, ...cells.map((cell) => element(tag, { dir: "auto" }, cell)));
  return element(
    "table",
    { style: "width:100%;font-size:.85em;text-align:left;vertical-align:top" },
    element("thead", {}, line("th", headings)),
    element("tbody", {}, ...rows.map((row) => line("td", row))),
  );
}
