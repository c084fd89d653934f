// Tabs, events of the keyboard and the controls, and the first drawing of the page.

const tabs = ["topics", "tree", "training", "settings"];
const opened = {}; // functions to call when a tab is opened
const inAddress = []; // functions that add to the address what else is shown: {name: value}
const fromAddress = []; // functions that show what else an address asks for
function openTab(name) {
  for (const tab of tabs) {
    $(`tab-${tab}`).setAttribute("aria-selected", tab === name);
    $(`tab-${tab}`).tabIndex = tab === name ? 0 : -1;
    $(`view-${tab}`).hidden = tab !== name;
  }
  state.tab = name;
  if (name === "topics") {
    updateMap();
    drawList();
  }
  source.clearError?.();
  opened[name]?.();
  updateAddress();
}

function listenToTabs() {
  tabs.forEach((tab, i) => {
    $(`tab-${tab}`).onclick = () => openTab(tab);
    $(`tab-${tab}`).onkeydown = (e) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
      if (step) {
        e.preventDefault();
        const next = tabs[(i + step + tabs.length) % tabs.length];
        openTab(next);
        $(`tab-${next}`).focus();
      }
    };
  });
}

// The address leads to what is shown: a link to it is permanent.
function updateAddress() {
  const parts = { topic: data.ids[state.topic], ...(state.word === null ? {} : { word: state.word }) };
  for (const more of inAddress) Object.assign(parts, more());
  const text = Object.entries(parts)
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    .join("&");
  try {
    history.replaceState(null, "", `#${text}`);
  } catch {
    /* some browsers do not allow this for local files */
  }
}

function moveSelection(by) {
  const i = state.shown.indexOf(state.topic);
  const next = state.shown[i < 0 ? 0 : Math.min(Math.max(i + by, 0), state.shown.length - 1)];
  if (next !== undefined) selectTopic(next);
}

$("search").addEventListener("input", (e) => {
  state.query = e.target.value.trim();
  if (state.word !== null && state.word !== state.query) {
    const query = e.target.value;
    clearWord();
    state.query = query.trim();
    e.target.value = query;
  }
  list.scrollTop = 0;
  filterTopics();
});
$("search").addEventListener("keydown", async (e) => {
  if (e.key !== "Enter") return;
  const exact = state.query ? await source.word(state.query) : null;
  const chip = $("suggestions").querySelector("button");
  if (exact !== null) selectWord(exact.word);
  else if (chip) chip.click();
  else if (state.shown.length) selectTopic(state.shown[0]);
});
$("sort").onchange = (e) => {
  state.sort = e.target.value;
  filterTopics();
  scrollToTopic(state.topic);
  drawList();
};
$("fold").onclick = () => {
  state.folded = !state.folded;
  filterTopics();
};
$("relevance").oninput = (e) => {
  state.relevance = 1 - Number(e.target.value);
  drawWords();
};
$("to-list").onclick = () => $("list-pane").scrollIntoView();
$("previous").onclick = () => moveSelection(-1);
$("next").onclick = () => moveSelection(1);
list.addEventListener("scroll", drawList, { passive: true });
addEventListener("keydown", (e) => {
  const typing = ["INPUT", "SELECT", "TEXTAREA"].includes(document.activeElement?.tagName);
  const moves = state.tab === "topics" && (!typing || document.activeElement === $("search"));
  if (document.querySelector("dialog[open]")) return;
  if (e.key === "Escape") {
    clearWord();
    document.activeElement?.blur();
  } else if (e.ctrlKey || e.metaKey || e.altKey) return;
  else if (e.key === "/" && !typing) {
    e.preventDefault();
    openTab("topics");
    $("search").focus();
    $("search").select();
  } else if (moves && (e.key === "ArrowDown" || (e.key === "j" && !typing))) {
    e.preventDefault();
    moveSelection(1);
  } else if (moves && (e.key === "ArrowUp" || (e.key === "k" && !typing))) {
    e.preventDefault();
    moveSelection(-1);
  } else if (e.key === "PageDown" && document.activeElement === list) {
    e.preventDefault();
    moveSelection(10);
  } else if (e.key === "PageUp" && document.activeElement === list) {
    e.preventDefault();
    moveSelection(-10);
  }
});
$("theme").onclick = () => {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  remember("theme", root.dataset.theme);
};

// What this browser keeps for the next time. Some browsers keep nothing for local files, and some people want that.
function remember(name, value) {
  try {
    localStorage.setItem(`topmix-${name}`, value);
  } catch {
    /* it is lost */
  }
}
function remembered(name) {
  try {
    return localStorage.getItem(`topmix-${name}`);
  } catch {
    return null;
  }
}
if (["light", "dark"].includes(remembered("theme"))) document.documentElement.dataset.theme = remembered("theme");

function drawAbout() {
  const a = data.about;
  const facts = [a.estimator, `${number.format(a.n_topics)} topics`, `${number.format(a.n_words)} words`];
  // The documents of the page are perhaps not those that the model learned from.
  const isOther = a.n_docs !== undefined && Math.abs(a.corpus_tokens - a.tokens) > 0.01 * a.tokens;
  if (a.n_docs !== undefined) {
    const tokens = isOther || !a.tokens ? "" : ` with ${number.format(Math.round(a.corpus_tokens))} tokens`;
    facts.push(`${number.format(a.n_docs)} documents${tokens}`);
  }
  if (a.tokens && (isOther || a.n_docs === undefined)) facts.push(`learned from ${number.format(a.tokens)} tokens`);
  if (a.passes) facts.push(`${a.passes} in ${a.seconds} s`);
  $("about").textContent = facts.join(" · ");
  $("made").textContent = `topmix ${a.version}`;
  $("settings").tBodies[0].replaceChildren(
    ...data.settings.map(([name, value]) =>
      element("tr", {}, element("th", { scope: "row" }, name), element("td", {}, value)),
    ),
  );
}

// Draws everything again from a new overview; what was chosen stays chosen, also where its row is another one.
async function redraw(overview) {
  const before = data === null ? null : data.ids[state.topic];
  const place = state.shown.indexOf(state.topic);
  adopt(overview);
  const after = before === null ? state.topic : followed(before);
  const isGone = after === null;
  state.topic = after ?? Math.min(state.topic, K - 1);
  if (state.word !== null) state.wordTopics = (await source.word(state.word))?.topics ?? [];
  drawAbout();
  drawCurve();
  drawMap();
  await filterTopics();
  if (isGone) await selectTopic(state.shown[Math.min(Math.max(place, 0), state.shown.length - 1)] ?? 0);
  else
    await selectTopic(state.topic, {
      scroll: before !== data.ids[state.topic],
      stay: before === data.ids[state.topic],
    });
  return before === null || before === data.ids[state.topic] ? "" : `${before} → ${data.ids[state.topic]}`;
}

const partsOf = (address) => new URLSearchParams(address.split("#").slice(1).join("#"));
function topicIn(asked) {
  return /^\d+$/.test(asked.get("topic") ?? "") ? followed(Number(asked.get("topic"))) : null;
}

// Shows what an address asks for: at the start, and when a person follows a link or types another address.
let asking = null;
async function follow(asked) {
  asking = asked;
  const k = topicIn(asked);
  if (asked.has("word")) await selectWord(asked.get("word"));
  else if (state.word !== null) clearWord();
  if (asking !== asked) return; // another address was asked for meanwhile
  if (k !== null && k !== state.topic) selectTopic(k); // a word alone shows the topic that uses it most
  for (const show of fromAddress) show(asked);
}

async function start() {
  const asked = partsOf(location.href);
  const needsModel = [document.querySelector("nav"), document.querySelector("main")];
  for (const part of needsModel) part.inert = true; // until there is one
  const overview = await source.overview();
  for (const part of needsModel) part.inert = false;
  listenToTabs();
  adopt(overview);
  state.topic = topicIn(asked) ?? orders.size[0];
  await redraw(data);
  scrollToTopic(state.topic);
  drawList();
  await follow(asked);
  addEventListener("hashchange", (e) => follow(partsOf(e.newURL))); // location may have been written again since
  return asked;
}
