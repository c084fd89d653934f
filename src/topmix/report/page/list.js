// The list of topics, the search field and its suggestions. Only the rows in sight exist as elements.

const HEIGHT = 66, list = $("list"), spacer = $("spacer");
const orders = {
  size: [...data.share.keys()].sort((a, b) => data.share[b] - data.share[a] || a - b),
  number: [...data.share.keys()],
  map: [...data.share.keys()].sort((a, b) => angle[a] - angle[b]),
};

function hasWord(k, query) {
  if (query === "" || String(k) === query) return true;
  for (let i = starts[k]; i < starts[k + 1]; i++) {  // words with a higher probability here than in the whole corpus
    const v = candidates[i];
    if (logs[i] > frequency[v] && words[v].toLowerCase().startsWith(query)) return true;
  }
  return false;
}

function filterTopics() {
  const query = state.query.toLowerCase();
  if (state.word !== null && words[state.word].toLowerCase() === query) state.shown = topicsOf(state.word).map(([k]) => k);
  else state.shown = orders[state.sort].filter((k) => hasWord(k, query));
  $("count").textContent = state.shown.length === K ? `${number.format(K)} topics` : `${number.format(state.shown.length)} of ${number.format(K)} topics`;
  spacer.style.height = state.shown.length * HEIGHT + "px";
  if (state.word === null) {
    const some = new Set(state.shown), all = some.size === K;
    circles.forEach((circle, k) => { circle.style.fillOpacity = all || some.has(k) ? "" : 0.1; });
  }
  drawSuggestions(query);
  drawList();
}

function drawList() {
  const first = Math.max(0, Math.floor(list.scrollTop / HEIGHT) - 4);
  const last = Math.min(state.shown.length, Math.ceil((list.scrollTop + list.clientHeight) / HEIGHT) + 4);
  const rows = [];
  for (let i = first; i < last; i++) {
    const k = state.shown[i];
    rows.push(element("div", { class: "topic", role: "option", id: `topic-${k}`, "data-topic": k, hue: hue(k), "aria-selected": k === state.topic, style: `top:${i * HEIGHT}px;--hue:${hue(k)}`, onclick: () => selectTopic(k) },
      element("span", { class: "number" }, String(k)), element("span", { class: "said" }, data.names[k] ? element("b", {}, data.names[k] + " ") : null, topWords[k].slice(0, 8).join(" ")),
      element("span", { class: "share" }, percent(data.share[k])),
      element("span", { class: "bar" }, element("i", { style: `width:${100 * data.share[k] / largest}%` }))));
  }
  if (!state.shown.length) rows.push(element("p", { class: "nothing" }, "No topic has this word among its top words."));
  spacer.replaceChildren(...rows);
  list.setAttribute("aria-activedescendant", `topic-${state.topic}`);
}

function scrollToTopic(k) {
  const i = state.shown.indexOf(k);
  if (i < 0) return;
  const top = i * HEIGHT;
  if (top < list.scrollTop) list.scrollTop = top;
  else if (top + HEIGHT > list.scrollTop + list.clientHeight) list.scrollTop = top + HEIGHT - list.clientHeight;
}

function drawSuggestions(query) {
  const chips = [];
  if (query.length >= 2) {
    let low = 0, high = sortedWords.length;
    while (low < high) { const mid = (low + high) >> 1; if (sortedWords[mid][0] < query) low = mid + 1; else high = mid; }
    const found = [];
    for (let i = low; i < sortedWords.length && sortedWords[i][0].startsWith(query); i++) found.push(sortedWords[i][1]);
    found.sort((a, b) => a - b);
    for (const v of found.slice(0, 8)) chips.push(element("button", { class: "chip", "aria-pressed": v === state.word, onclick: () => selectWord(v) }, words[v]));
  }
  $("suggestions").replaceChildren(...chips);
}
