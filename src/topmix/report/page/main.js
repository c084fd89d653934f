// Tabs, events of the keyboard and the controls, and the first drawing of the page.

const tabs = ["topics", "tree", "training", "settings"];
function openTab(name) {
  for (const tab of tabs) {
    $(`tab-${tab}`).setAttribute("aria-selected", tab === name);
    $(`tab-${tab}`).tabIndex = tab === name ? 0 : -1;
    $(`view-${tab}`).hidden = tab !== name;
  }
  if (name === "topics") { updateMap(); drawList(); }
}
tabs.forEach((tab, i) => {
  $(`tab-${tab}`).onclick = () => openTab(tab);
  $(`tab-${tab}`).onkeydown = (e) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
    if (step) { const next = tabs[(i + step + tabs.length) % tabs.length]; openTab(next); $(`tab-${next}`).focus(); }
  };
});

function updateAddress() {
  const word = state.word === null ? "" : `&word=${encodeURIComponent(words[state.word])}`;
  try { history.replaceState(null, "", `#topic=${state.topic}${word}`); } catch { /* some browsers do not allow this for local files */ }
}

function moveSelection(by) {
  const i = state.shown.indexOf(state.topic);
  const next = state.shown[i < 0 ? 0 : Math.min(Math.max(i + by, 0), state.shown.length - 1)];
  if (next !== undefined) selectTopic(next);
}

$("search").addEventListener("input", (e) => {
  state.query = e.target.value.trim();
  if (state.word !== null && words[state.word] !== state.query) { const query = e.target.value; clearWord(); state.query = query.trim(); e.target.value = query; }
  list.scrollTop = 0;
  filterTopics();
});
$("search").addEventListener("keydown", (e) => {
  if (e.key !== "Enter") return;
  const query = state.query.toLowerCase(), exact = idOf.get(state.query) ?? idOf.get(query);
  const chip = $("suggestions").querySelector("button");
  if (exact !== undefined) selectWord(exact);
  else if (chip) chip.click();
  else if (state.shown.length) selectTopic(state.shown[0]);
});
$("sort").onchange = (e) => { state.sort = e.target.value; filterTopics(); scrollToTopic(state.topic); drawList(); };
$("relevance").oninput = (e) => { state.relevance = 1 - Number(e.target.value); drawWords(); };
$("previous").onclick = () => moveSelection(-1);
$("next").onclick = () => moveSelection(1);
list.addEventListener("scroll", drawList, { passive: true });
addEventListener("keydown", (e) => {
  const typing = ["INPUT", "SELECT", "TEXTAREA"].includes(document.activeElement?.tagName);
  if (e.key === "Escape") { clearWord(); document.activeElement?.blur(); }
  else if (e.ctrlKey || e.metaKey || e.altKey) return;
  else if (e.key === "/" && !typing) { e.preventDefault(); openTab("topics"); $("search").focus(); $("search").select(); }
  else if ((e.key === "ArrowDown" || (e.key === "j" && !typing)) && document.activeElement !== $("relevance") && document.activeElement !== $("sort")) { e.preventDefault(); moveSelection(1); }
  else if ((e.key === "ArrowUp" || (e.key === "k" && !typing)) && document.activeElement !== $("relevance") && document.activeElement !== $("sort")) { e.preventDefault(); moveSelection(-1); }
  else if (e.key === "PageDown" && document.activeElement === list) { e.preventDefault(); moveSelection(10); }
  else if (e.key === "PageUp" && document.activeElement === list) { e.preventDefault(); moveSelection(-10); }
});
$("theme").onclick = () => {
  const root = document.documentElement, dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
};

const a = data.about, facts = [a.estimator, `${number.format(a.n_topics)} topics`, `${number.format(a.n_words)} words`];
if (a.n_docs !== undefined) facts.push(`${number.format(a.n_docs)} documents`);
if (a.tokens) facts.push(`${number.format(a.tokens)} tokens`);
if (a.passes) facts.push(`${a.passes} passes in ${a.seconds} s`);
$("about").textContent = facts.join(" · ");
$("made").textContent = `topmix ${a.version}`;
$("settings").tBodies[0].append(...data.settings.map(([name, value]) => element("tr", {}, element("th", { scope: "row" }, name), element("td", {}, value))));
drawTree();
drawCurve();
drawMap();
filterTopics();
const asked = new URLSearchParams(location.hash.slice(1)), wanted = Number(asked.get("topic") ?? orders.size[0]);
selectTopic(Number.isInteger(wanted) && wanted >= 0 && wanted < K ? wanted : orders.size[0]);
if (asked.has("word") && idOf.has(asked.get("word"))) selectWord(idOf.get(asked.get("word")));
document.documentElement.dataset.ready = "true";
