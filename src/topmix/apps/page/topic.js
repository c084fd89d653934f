// The selected topic: its words, its nearest topics and its documents.

const onTopic = []; // functions that draw more of a topic, called with its number and its details

const actions = { read: null }; // reads a document as a whole, where that can be done

async function selectTopic(k, { scroll = true, stay = false } = {}) {
  const asked = source.topic(k); // before anything is drawn
  for (const circle of map.querySelectorAll(".chosen")) circle.classList.remove("chosen");
  state.topic = k;
  if (!stay) state.documents = 3;
  circles[k]?.classList.add("chosen");
  if (scroll) scrollToTopic(k);
  drawList();
  updateMap();
  updateAddress();
  const details = await asked;
  if (state.topic !== k) return; // another was chosen meanwhile
  state.details = details;
  drawTopic();
  if (!stay) $("detail").scrollTop = 0;
}

// The same by a click: where the page is narrow, the topic is below what was clicked.
function chooseTopic(k) {
  selectTopic(k);
  if (matchMedia("(max-width: 600px)").matches) $("detail").scrollIntoView();
}

// The same from another tab.
function showTopic(k) {
  openTab("topics");
  selectTopic(k);
}

function drawTopic() {
  const k = state.topic;
  const detail = $("detail");
  detail.style.setProperty("--hue", hue(k));
  detail.style.setProperty("--hue-soft", soft(k));
  $("topic-title").textContent = titleOf(k);
  const rank = data.share.filter((share, j) => share > data.share[k] || (share === data.share[k] && j < k)).length + 1;
  const tokens = data.about.tokens
    ? `, about ${number.format(Math.round(data.share[k] * data.about.tokens))} tokens`
    : "";
  $("topic-facts").textContent =
    `${percent(data.share[k])} of all ${data.about.unit}${tokens}; ` +
    `number ${rank} of ${number.format(K)} by size` +
    (data.ids[k] === k ? "" : `, row ${k} of the model`) +
    (isPoor(k) ? `. Hardly worth reading: ${data.quality[k]}` : "");
  drawWords();
  $("near").replaceChildren(
    ...state.details.near.map(([j, distance]) =>
      meter(data.ids[j], 1 - distance, topWords[j].slice(0, 6).join(" "), {
        hue: hue(j),
        title: `distance ${distance}`,
        onclick: () => selectTopic(j),
      }),
    ),
  );
  drawDocuments();
  for (const draw of onTopic) draw(k, state.details);
}

function bestWords(n) {
  return state.details.words
    .map(([word, log, base]) => [log - (1 - state.relevance) * base, word, log, base])
    .sort((a, b) => b[0] - a[0])
    .slice(0, n);
}

function drawWords() {
  const found = bestWords(30);
  const most = Math.exp(Math.max(...found.map((w) => w[2])));
  const share = Math.log(Math.max(data.share[state.topic], 1e-12));
  const rows = [
    element(
      "li",
      {},
      element(
        "div",
        { class: "word headings" },
        element(
          "span",
          { class: "key" },
          element("i"),
          "in the topic ",
          element("i", { class: "all" }),
          "in all documents",
        ),
        element("span", { class: "value", title: "share of the topic's tokens" }, "of topic"),
        element("span", { class: "value", title: "share of the word's tokens that are in this topic" }, "of word"),
      ),
    ),
  ];
  for (const [, word, log, base] of found) {
    rows.push(
      element(
        "li",
        {},
        element(
          "button",
          { class: "word", onclick: () => selectWord(word) },
          element(
            "span",
            { class: "track", title: word.length > 30 ? word.slice(0, 300) : null },
            element("i", { style: `width:${(100 * Math.exp(log)) / most}%` }),
            element("i", { class: "all", style: `width:${Math.min(100, (100 * Math.exp(base)) / most)}%` }),
            element("span", { dir: "auto" }, word.slice(0, 300)),
          ),
          element("span", { class: "value" }, percent(Math.exp(log))),
          element("span", { class: "value" }, percent(Math.min(1, Math.exp(share + log - base)))),
        ),
      ),
    );
  }
  $("words").replaceChildren(...rows);
  $("relevance-value").textContent = `λ = ${state.relevance.toFixed(2)}`;
}

function drawDocuments() {
  const { documents, hint } = state.details;
  $("documents-title").textContent = "Documents with the most of this topic";
  if (hint) {
    $("documents").replaceChildren(element("p", { class: "hint-text" }, hint));
    return;
  }
  const cards = documents.slice(0, state.documents).map(documentCard);
  if (documents.length > state.documents)
    cards.push(
      element(
        "button",
        {
          id: "more",
          onclick: () => {
            state.documents += 10;
            drawDocuments();
          },
        },
        `${documents.length - state.documents} more`,
      ),
    );
  if (!documents.length) cards.push(element("p", {}, "No document has a large share of this topic."));
  $("documents").replaceChildren(...cards);
}

function mixtureBar(topics) {
  const own = ownColours(topics);
  return element(
    "div",
    { class: "mixture" },
    ...topics.map(([k, share]) =>
      element(
        "button",
        {
          style: `width:${100 * share}%;--hue:${own.get(k).colour}`,
          title: `${titleOf(k)}: ${percent(share)} (${topWords[k].slice(0, 4).join(" ")})`,
          "aria-label": `${own.get(k).letter}: ${titleOf(k)}, ${percent(share)}`,
          onclick: () => showTopic(k),
        },
        share > 0.04 ? own.get(k).letter : "",
      ),
    ),
  );
}

/**
 * Text with each word in the colour of its topic in this document. Pointing at a word, touching it, or going to it with
 * the arrow keys says its topic and how probable that is.
 *
 * @param {Array<[string, number, number]>} pieces
 * @param {boolean} cut
 * @param {number} chosen - a topic whose words are marked
 * @param {Map<number, {colour: string, letter: string}>} own - of the topics of the document
 * @param {Set<string>} sought - words that were searched for
 */
function markedText(pieces, cut, chosen, own, sought = new Set()) {
  const about = element("p", { class: "word-about", "aria-live": "polite" });
  const words = [];
  const text = element("div", {
    class: "text",
    dir: "auto",
    tabindex: 0,
    role: "group",
    "aria-label": "Text; the arrow keys go from word to word",
    onclick: (e) => show(words.indexOf(e.target)),
    onkeydown: (e) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
      if (!step || !words.length) return;
      e.preventDefault();
      show(Math.min(Math.max(here + step, 0), words.length - 1));
    },
  });
  let here = -1;
  function show(i) {
    if (i < 0) return;
    words[here]?.classList.remove("here");
    here = i;
    const word = words[i];
    word.classList.add("here");
    const k = Number(word.dataset.k);
    about.replaceChildren(
      `“${word.textContent.slice(0, 60)}”: ${word.title} `,
      element("button", { class: "chip", onclick: () => showTopic(k) }, "open the topic"),
    );
  }
  for (const [piece, k, p] of pieces) {
    const isSought = sought.has(piece.toLowerCase());
    if (k < 0) {
      text.append(isSought ? element("b", { class: "sought" }, piece) : piece);
      continue;
    }
    const colour = own.get(k);
    const word = element(k === chosen ? "mark" : "span", {
      hue: colour?.colour ?? "var(--line)",
      class: isSought ? "sought" : null,
      "data-k": k,
      title: `${colour ? `${colour.letter} · ` : ""}${titleOf(k)}, ${percent(p)}`,
    });
    word.append(piece);
    words.push(word);
    text.append(word);
  }
  if (cut) text.append(" …");
  return [text, about];
}

function documentCard(d) {
  const open =
    actions.read === null ? null : element("button", { class: "open", onclick: () => actions.read(d.row) }, "read");
  const name = element("div", { class: "name" }, element("span", { dir: "auto" }, d.name.slice(0, 300)), open);
  const node = element(
    "article",
    { class: "document" },
    name,
    mixtureBar(d.topics),
    ...markedText(d.pieces, d.cut, state.topic, ownColours(d.topics)),
  );
  node.append(
    element(
      "button",
      {
        class: "more",
        "aria-expanded": "false",
        onclick: (e) => {
          const is = node.classList.toggle("open");
          e.target.textContent = is ? "less" : "more";
          e.target.setAttribute("aria-expanded", is);
        },
      },
      "more",
    ),
  );
  return node;
}
