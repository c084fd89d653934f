// The list of topics, the search field and its suggestions. Only the rows in sight exist as elements.

const HEIGHT = 66;
const list = $("list");
const spacer = $("spacer");

/** @param {number[]} topics */
function unfolded(topics) {
  const good = topics.filter((k) => !isPoor(k));
  return state.folded && good.length ? good : topics;
}

function drawFold() {
  const n = data.quality.filter((why) => why !== null).length;
  const fold = $("fold");
  fold.hidden = n === 0 || n === K || state.query !== "";
  fold.textContent = `${state.folded ? "show" : "hide"} ${number.format(n)} that ${n === 1 ? "is" : "are"} hardly worth reading`;
  fold.setAttribute("aria-pressed", String(!state.folded));
}

async function filterTopics() {
  const query = state.query.toLowerCase();
  const asked = ++state.asked;
  if (state.word !== null && state.word.toLowerCase() === query) state.shown = state.wordTopics.map(([k]) => k);
  else if (query === "") state.shown = unfolded(orders[state.sort]);
  else {
    const found = new Set(await source.find(query));
    if (asked !== state.asked) return; // somebody has typed on
    state.shown = orders[state.sort].filter((k) => found.has(k));
  }
  $("count").textContent =
    state.shown.length === K
      ? `${number.format(K)} topics`
      : `${number.format(state.shown.length)} of ${number.format(K)} topics`;
  drawFold();
  spacer.style.height = state.shown.length * HEIGHT + "px";
  if (state.word === null) {
    const some = new Set(state.shown);
    const all = some.size === K;
    const isFound = (k) => all || some.has(k) || (query === "" && isPoor(k));
    circles.forEach((circle, k) => {
      circle.style.fillOpacity = isFound(k) ? "" : 0.1;
    });
  }
  drawList();
  await drawSuggestions(query, asked);
}

function drawList() {
  const first = Math.max(0, Math.floor(list.scrollTop / HEIGHT) - 4);
  const last = Math.min(state.shown.length, Math.ceil((list.scrollTop + list.clientHeight) / HEIGHT) + 4);
  const rows = [];
  for (let i = first; i < last; i++) {
    const k = state.shown[i];
    rows.push(
      element(
        "div",
        {
          class: "topic",
          role: "option",
          id: `topic-${k}`,
          "data-topic": k,
          "aria-selected": k === state.topic,
          "aria-setsize": state.shown.length,
          "aria-posinset": i + 1,
          style: `top:${i * HEIGHT}px;--hue:${hue(k)}`,
          onclick: () => chooseTopic(k),
        },
        element("span", { class: "number" }, String(data.ids[k])),
        element(
          "span",
          { class: "said", dir: "auto" },
          data.names[k] ? element("b", {}, data.names[k] + " ") : null,
          topWords[k].slice(0, isPoor(k) ? 4 : 8).join(" "),
          isPoor(k) ? element("span", { class: "poor" }, ` ${data.quality[k]}`) : null,
        ),
        element("span", { class: "share" }, percent(data.share[k])),
        element("span", { class: "bar" }, element("i", { style: `width:${(100 * data.share[k]) / largest}%` })),
      ),
    );
  }
  if (!state.shown.length) rows.push(element("p", { class: "nothing" }, "No topic has this word among its top words."));
  spacer.replaceChildren(...rows);
  spacer.setAttribute("role", state.shown.length ? "presentation" : "none");
  if ($(`topic-${state.topic}`)) list.setAttribute("aria-activedescendant", `topic-${state.topic}`);
  else list.removeAttribute("aria-activedescendant");
}

function scrollToTopic(k) {
  const i = state.shown.indexOf(k);
  if (i < 0) return;
  const top = i * HEIGHT;
  if (top < list.scrollTop) list.scrollTop = top;
  else if (top + HEIGHT > list.scrollTop + list.clientHeight) list.scrollTop = top + HEIGHT - list.clientHeight;
}

async function drawSuggestions(query, asked) {
  const found = query.length >= 2 ? await source.suggest(query) : [];
  if (asked !== state.asked) return;
  $("suggestions").replaceChildren(
    ...found.map((word) =>
      element("button", { class: "chip", "aria-pressed": word === state.word, onclick: () => selectWord(word) }, word),
    ),
  );
}
