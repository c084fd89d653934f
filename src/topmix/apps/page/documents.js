// Documents: found by word, by topic and by column, and read as a whole.

const search = { words: "", topic: "", column: "", value: "", offset: 0, document: null, asked: 0, reads: 0 };

addTab(
  "documents",
  "Documents",
  [
    element(
      "form",
      {
        id: "find-documents",
        role: "search",
        "aria-label": "Find documents",
        onsubmit: (e) => {
          e.preventDefault();
          search.offset = 0;
          findDocuments();
        },
      },
      element(
        "label",
        {},
        "Words",
        element("input", {
          id: "find-words",
          type: "search",
          autocomplete: "off",
          spellcheck: "false",
          placeholder: "all of these words",
        }),
      ),
      element("label", {}, "Topic", topicPicker({ id: "find-topic", placeholder: "any" })),
      element("label", { id: "find-column-label" }, "Column", element("select", { id: "find-column" })),
      element(
        "label",
        { id: "find-value-label" },
        "Value",
        element("input", { id: "find-value", autocomplete: "off", list: "find-values" }),
        element("datalist", { id: "find-values" }),
      ),
      element("button", { class: "main" }, "Find"),
    ),
    element(
      "div",
      { id: "found" },
      element(
        "section",
        { id: "found-list", "aria-label": "Documents that were found" },
        element("p", { id: "found-facts", "aria-live": "polite" }),
        element("div", { id: "found-cards" }),
      ),
      element("section", { id: "reading", "aria-label": "The chosen document", tabindex: -1 }),
    ),
  ],
  "tree",
);

opened.documents = () => {
  drawColumns();
  if (!$("found-cards").children.length) findDocuments();
};
inAddress.push(() =>
  state.tab === "documents"
    ? {
        tab: "documents",
        ...Object.fromEntries(
          ["words", "document"].filter((n) => search[n] !== "" && search[n] !== null).map((n) => [n, search[n]]),
        ),
      }
    : {},
);

function drawColumns() {
  const columns = live.status.columns;
  for (const id of ["find-column-label", "find-value-label"]) $(id).hidden = !columns.length;
  if ($("find-column").options.length !== columns.length + 1)
    $("find-column").replaceChildren(
      element("option", { value: "" }, "any"),
      ...columns.map((c) => element("option", { value: c.name }, c.name)),
    );
}
$("find-column").onchange = (e) => {
  const column = live.status.columns.find((c) => c.name === e.target.value);
  $("find-values").replaceChildren(...(column?.values ?? []).map((value) => element("option", { value })));
};

const findDocuments = orSay(async () => {
  const asked = ++search.asked;
  $("found-list").ariaBusy = "true";
  Object.assign(search, {
    words: $("find-words").value.trim(),
    topic: pickedTopic($("find-topic")) ?? "",
    column: $("find-column").value,
    value: $("find-value").value,
  });
  if (search.value === "") search.column = "";
  const found = await ask("/api/documents", {
    words: search.words,
    topic: search.topic,
    column: search.column,
    value: search.value,
    offset: search.offset,
  }).finally(() => asked === search.asked && ($("found-list").ariaBusy = "false"));
  if (asked !== search.asked) return;
  const last = search.offset + found.documents.length;
  const said = [];
  if (found.pending) said.push(pendingText());
  else if (found.unknown.length)
    said.push(`The model does not know ${found.unknown.map((w) => `“${w.slice(0, 60)}”`).join(", ")}.`);
  else
    said.push(
      found.n
        ? `${number.format(search.offset + 1)} to ${number.format(last)} of ${number.format(found.n)} documents`
        : "No document was found.",
    );
  $("found-facts").textContent = said.join(" ");
  const cards = found.documents.map((d) => foundCard(d, () => readDocument(d.row)));
  const move = (by, text) =>
    element(
      "button",
      {
        onclick: () => {
          search.offset += by;
          findDocuments();
        },
      },
      text,
    );
  if (search.offset > 0) cards.push(move(-20, "← previous"));
  if (last < found.n) cards.push(move(20, "next →"));
  const focused = $("found-cards").querySelector(":focus");
  $("found-cards").replaceChildren(...cards);
  // The keyboard stays in the list: on the same document, or on the first, as after the turn of a page.
  if (focused) (cards.find((c) => c.dataset.row && c.dataset.row === focused.dataset.row) ?? cards[0])?.focus();
  updateAddress();
});

// A document in a list: its name, its beginning and its topics.
const foundCard = (d, onclick) =>
  element(
    "button",
    { class: "card", "data-row": d.row, "aria-current": d.row === search.document, onclick },
    element("span", { class: "name", dir: "auto" }, d.name.slice(0, 200)),
    element(
      "span",
      { class: "excerpt", dir: "auto" },
      d.pieces
        .map((p) => p[0])
        .join("")
        .slice(0, 200),
    ),
    strip(d.topics),
  );

// The topics of a document as a bar that only shows them; in a document that is read, mixtureBar has buttons.
const strip = (topics) =>
  element(
    "span",
    { class: "mixture", "aria-hidden": "true" },
    ...topics.map(([, share], i) => element("i", { style: `width:${100 * share}%;background:${OWN[i % OWN.length]}` })),
  );

const readDocument = orSay(async (row) => {
  const asked = ++search.reads;
  const d = await ask(`/api/document/${row}`);
  if (asked !== search.reads) return; // another was opened meanwhile
  search.document = row;
  const own = ownColours(d.topics);
  const sought = new Set(
    search.words
      .toLowerCase()
      .split(/\s+/)
      .filter((word) => word),
  );
  const legend = element(
    "ul",
    { class: "legend" },
    ...d.topics.map(([k, share]) =>
      element(
        "li",
        {},
        element(
          "button",
          { class: "chip", hue: own.get(k).colour, onclick: () => showTopic(k) },
          element("i"),
          element("b", {}, `${own.get(k).letter} `),
          `${labelOf(k).slice(0, 60)} ${percent(share)}`,
        ),
      ),
    ),
  );
  const facts = element(
    "dl",
    {},
    ...d.columns
      .filter(([, value]) => value !== "")
      .flatMap(([name, value]) => [element("dt", {}, name), element("dd", { dir: "auto" }, value)]),
  );
  const near = d.similar.map(([other, name, score]) =>
    meter(other, score, name, { hue: "var(--accent)", onclick: () => readDocument(other) }),
  );
  $("reading").replaceChildren(
    element("button", { class: "back", onclick: () => $("view-documents").scrollIntoView() }, "← results"),
    element("h2", { dir: "auto" }, d.name.slice(0, 300)),
    element(
      "p",
      { class: "hint-text" },
      `${number.format(d.tokens)} tokens that the model knows. ` +
        "Point at a word, touch it, or go to it with the arrow keys to see its topic and how probable it is.",
    ),
    mixtureBar(d.topics),
    legend,
    live.status.can_edit_words
      ? element("button", { id: "edit-move", onclick: () => editMove(row, d.name, d.topics) }, "Move to a topic")
      : null,
    facts,
    element("article", { class: "document whole" }, ...markedText(d.pieces, d.cut, -1, own, sought)),
    ...(near.length ? [element("h3", {}, "Documents with similar topics"), ...near] : []),
  );
  $("reading").scrollTop = 0;
  for (const card of $("found-cards").querySelectorAll(".card"))
    card.setAttribute("aria-current", Number(card.dataset.row) === row);
  if (matchMedia("(max-width: 1000px)").matches) $("reading").scrollIntoView();
  $("reading").focus({ preventScroll: true });
  updateAddress();
});

actions.read = (row) => {
  openTab("documents");
  readDocument(row);
};
