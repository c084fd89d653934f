// What others can have: the report, tables, the model, the script of the edits. The address of this page is a link to
// what it shows, for everybody who may use this server.

const file = (name, about) =>
  element(
    "li",
    {},
    element(
      "a",
      { href: `/export/${name}`, download: name, onclick: () => say(`Writing ${name}; the browser saves it then.`) },
      name,
    ),
    element("span", {}, about),
  );
addTab(
  "share",
  "Share",
  [
    element("h2", {}, "Share"),
    element(
      "ul",
      { id: "exports" },
      file("report.html", "the static report: one page that needs no server"),
      file("topics.csv", "topics with their sizes and words"),
      file("documents.csv", "the topics of each document"),
      file("topics.model", "the model with its edits, for topmix.load"),
      file("edits.py", "the edits as a program that makes them again, to the same bits"),
    ),
    element("h3", {}, "Edits"),
    element("ol", { id: "log" }),
    element("p", { id: "no-edits", class: "hint-text" }, "None yet."),
  ],
  "settings",
);

opened.share = () => {
  $("log").replaceChildren(
    ...live.status.said.map((edit) => element("li", { dir: "auto" }, describe(edit).slice(0, 300))),
  );
  $("no-edits").hidden = live.status.edits.length > 0;
  for (const link of $("exports").querySelectorAll("a"))
    link.parentElement.hidden = link.download === "documents.csv" && !live.status.has_documents;
};
opened.tree = orSay(drawTree);
