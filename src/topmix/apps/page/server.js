// Where the data comes from: here, from a server, one slice at a time. The report has embedded.js with the same
// functions.

async function reply(response) {
  const value = await response.json();
  if (!response.ok) throw new Error(value.error ?? `the server answered ${response.status}`);
  return value;
}
const ask = async (path, fields = {}) => reply(await fetch(`${path}?${new URLSearchParams(fields)}`));

// Changes something. The version says what we have seen: a change of something older is refused.
async function send(what, fields = {}) {
  const body = JSON.stringify({ version: live.status.version, ...fields });
  return reply(
    await fetch(`/api/do/${what}`, { method: "POST", headers: { "Content-Type": "application/json" }, body }),
  );
}

const live = { status: { version: -1, busy: null, edits: [], said: [], undone: [], columns: [] }, passes: [] };

async function fetchOverview() {
  const found = await ask("/api/overview");
  if (found.status.version >= live.status.version) live.status = found.status; // a later answer may have been faster
  live.passes = found.passes;
  return found.overview;
}

const source = {
  isLive: true,
  clearError,
  // During a fit there is nothing to show before the end of the first pass.
  overview: async () => {
    for (;;) {
      const found = await fetchOverview();
      if (found !== null) return found;
      $("about").textContent = "Waiting for the first pass …";
      drawLive();
      await new Promise((done) => {
        setTimeout(done, 300);
      });
    }
  },
  passes: () => (live.status.busy === null ? null : live.passes),
  tree: () => ask("/api/tree"),
  topic: (k) => ask(`/api/topic/${k}`),
  word: (word) => ask("/api/word", { q: word }),
  suggest: (query) => ask("/api/suggest", { q: query }),
  find: (query) => ask("/api/find", { q: query }),
  columns: () => live.status.columns.filter((c) => c.is_time || c.n_values <= 2000),
  groups: async (column, topic) => {
    try {
      const found = await ask("/api/groups", { column, topic });
      return found.pending ? { pending: pendingText() } : found;
    } catch (error) {
      say(error.message, true);
      return { pending: error.message };
    }
  },
};

const pendingText = () =>
  `The topics of the documents are ${live.status.busy === null ? "being computed …" : "known when the fit is over."}`;

// A line that says what happened or went wrong, also to screen readers. What went wrong stays until something goes well,
// or another screen is opened.
function say(text, isError = false) {
  $("said").textContent = text;
  $("said").classList.toggle("error", isError);
  clearTimeout(say.timer);
  if (!isError)
    say.timer = setTimeout(() => {
      $("said").textContent = "";
    }, 6000);
}
function clearError() {
  if ($("said").classList.contains("error")) say("");
}
const orSay =
  (work) =>
  async (...given) => {
    try {
      const done = await work(...given);
      clearError();
      return done;
    } catch (error) {
      say(error.message, true);
      return null;
    }
  };

// A field for a topic: its number, or words of its name, of which the browser offers all.
const allTopics = element("datalist", { id: "all-topics" });
document.body.append(allTopics);
onOverview.push(() => {
  allTopics.replaceChildren(...orders.size.map((k) => element("option", { value: pickText(k) })));
});
const pickText = (k) => `${data.ids[k]} ${labelOf(k).slice(0, 60)}`;
const topicPicker = (attributes) => element("input", { list: "all-topics", autocomplete: "off", ...attributes });

// The row of the topic in a field; null where it is empty.
function pickedTopic(input) {
  const text = input.value.trim().toLowerCase();
  if (text === "") return null;
  const begin = /^\d+(?= |$)/.exec(text);
  const k =
    begin === null ? orders.size.find((j) => labelOf(j).toLowerCase().includes(text)) : followed(Number(begin[0]));
  if (k === undefined || k === null) throw new Error(`there is no topic “${text.slice(0, 60)}”`);
  return k;
}

function addTab(name, title, content, before) {
  $(`tab-${before}`).before(
    element(
      "button",
      { role: "tab", id: `tab-${name}`, "aria-controls": `view-${name}`, "aria-selected": "false", tabindex: -1 },
      title,
    ),
  );
  const view = element(
    "div",
    { id: `view-${name}`, role: "tabpanel", "aria-labelledby": `tab-${name}`, tabindex: 0, class: "view" },
    ...content,
  );
  view.hidden = true;
  $(`view-${before}`).before(view);
  tabs.splice(tabs.indexOf(before), 0, name);
}
