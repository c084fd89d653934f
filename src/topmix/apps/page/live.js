// What happens now: a fit that is watched, undo and redo, learning on. Every window shows every change.

document.querySelector("main").before(
  element(
    "section",
    { id: "live", "aria-label": "Learning and editing" },
    element("span", { id: "live-state", role: "status" }),
    element(
      "span",
      { id: "fit-controls", class: "group" },
      element(
        "button",
        {
          id: "pause",
          onclick: orSay(async () =>
            drawLive(await send("control", { action: live.status.paused ? "resume" : "pause" })),
          ),
        },
        "Pause",
      ),
      element(
        "button",
        {
          id: "stop",
          onclick: orSay(async () => {
            drawLive(await send("control", { action: "stop" }));
            say("It stops after this pass.");
          }),
        },
        "Stop",
      ),
    ),
    element(
      "span",
      { id: "edit-controls", class: "group" },
      element("button", { id: "undo", title: "Ctrl+Z", onclick: () => takeBack("undo") }, "Undo"),
      element("button", { id: "redo", title: "Ctrl+Shift+Z", onclick: () => takeBack("redo") }, "Redo"),
      element(
        "form",
        {
          id: "learn-form",
          onsubmit: orSay(async (e) => {
            e.preventDefault();
            live.passes = [];
            drawLive(await send("learn", { passes: $("passes").valueAsNumber }));
          }),
        },
        element("button", { id: "learn" }, "Learn on"),
        element(
          "label",
          {},
          element("input", { id: "passes", type: "number", min: 1, max: 1000, value: 5, "aria-label": "Passes" }),
          "passes",
        ),
      ),
    ),
    element("span", { id: "said", role: "alert" }),
  ),
);

// One after another: each has to have seen what the one before it did.
let taking = Promise.resolve();
function takeBack(what) {
  taking = taking.then(
    orSay(async () => {
      if (!(what === "undo" ? live.status.edits : live.status.undone).length) return;
      live.status = await send(what);
      await refresh();
      say(what === "undo" ? "Undone." : "Made again.");
    }),
  );
}
addEventListener("keydown", (e) => {
  const typing = ["INPUT", "SELECT", "TEXTAREA"].includes(document.activeElement?.tagName);
  if (!(e.ctrlKey || e.metaKey) || e.altKey || typing || $("edit-controls").hidden) return;
  if (document.querySelector("dialog[open]") || !["z", "y"].includes(e.key.toLowerCase())) return;
  e.preventDefault();
  takeBack(e.key.toLowerCase() === "y" || e.shiftKey ? "redo" : "undo");
});

const describe = (edit) =>
  ({
    rename: () => `rename ${edit.topic} to “${edit.name}”`,
    merge: () => `merge ${edit.topics.join(" and ")}`,
    split: () => `split ${edit.topic}`,
    delete: () => `delete ${edit.topic}`,
    seed: () => `seed ${edit.topic ?? "a new topic"} with ${edit.words.join(" ")}`,
    ban: () => `ban ${edit.words.join(" ")} from ${edit.topic}`,
    pin: () => `pin ${edit.words.join(" ")} to ${edit.topic}`,
    move: () => `move document ${edit.document} to ${edit.topic}`,
    freeze: () => `freeze ${edit.topic}`,
    unfreeze: () => `unfreeze ${edit.topic}`,
    learn: () => `learn on for ${edit.passes} passes`,
  })[edit.do]();

// What the fit does. Sampling sweeps are counted apart from passes, as the command counts them.
function learningText(isPaused) {
  const last = live.passes.at(-1);
  const [, seconds, objective, phase] = last ?? [];
  const doing = { sampling: "Sampling:", drawing: "Drawing effects:", polishing: "Polishing:" }[phase] ?? "Learning:";
  if (last === undefined) return isPaused ? "Paused before the first pass" : "Learning: the first pass …";
  const isSweep = phase === "sampling";
  const n = live.passes.filter((row) => (row[3] === "sampling") === isSweep).length;
  return (
    `${isPaused ? "Paused after" : doing} ${isSweep ? "sweep" : "pass"} ${n}, ` +
    `objective ${objective.toLocaleString("en", { maximumSignificantDigits: 7 })}, ${seconds.toFixed(1)} s`
  );
}

function drawLive(status = live.status) {
  if (status.version < live.status.version) return; // a later answer was faster
  live.status = status;
  const is = status.busy !== null;
  const made = status.edits.length;
  if (is) $("live-state").textContent = learningText(status.paused);
  else if (made) {
    const said = describe(status.said.at(-1)).slice(0, 80);
    $("live-state").textContent = `${made} ${made === 1 ? "edit" : "edits"}; the last: ${said}`;
  } else $("live-state").textContent = "";
  document.documentElement.dataset.busy = status.busy ?? "";
  $("fit-controls").hidden = !is;
  $("pause").textContent = status.paused ? "Resume" : "Pause";
  $("edit-controls").hidden = is || !(status.can_edit || status.can_rename);
  $("undo").disabled = !made;
  $("redo").disabled = !status.undone.length;
  $("learn-form").hidden = !(status.can_edit && status.has_documents);
  $("live").hidden = !is && $("edit-controls").hidden && !$("said").textContent;
  if (status.error) say(status.error, true);
  drawEdits();
  if (data !== null) drawCurve();
}

// One refresh at a time; what happens meanwhile asks for another.
const refreshing = { now: false, again: false };
async function refresh() {
  if (refreshing.now) {
    refreshing.again = true;
    return;
  }
  refreshing.now = true;
  try {
    const overview = await fetchOverview();
    const moved = overview === null ? "" : await redraw(overview);
    drawLive();
    if (moved) say(moved);
    else clearError();
    opened[state.tab]?.();
  } catch (error) {
    if (!refreshing.again) say(error.message, true);
  } finally {
    refreshing.now = false;
  }
  if (refreshing.again) {
    refreshing.again = false;
    await refresh();
  }
}

const onEvent = {
  state: refresh,
  status: orSay(async () => drawLive(await ask("/api/status"))),
  documents: orSay(async () => {
    live.status = await ask("/api/status");
    await selectTopic(state.topic, { scroll: false, stay: true });
    if (state.tab === "documents") findDocuments();
  }),
  pass: ({ row }) => {
    if (row[0] === 1) live.passes = []; // another start of the fit
    if (row[0] > (live.passes.at(-1)?.[0] ?? 0)) live.passes.push(row); // it may have come with the overview
    if (live.status.busy === null) {
      onEvent.status();
      return;
    }
    drawLive();
  },
};

function listen() {
  const events = new EventSource("/api/events");
  let lost = false;
  events.onmessage = (message) => {
    const event = JSON.parse(message.data);
    onEvent[event.kind]?.(event);
  };
  events.onerror = () => {
    lost = true;
    say("The server does not answer. What was accepted is saved; start it again, and this page goes on.", true);
  };
  events.onopen = () => {
    if (lost) {
      lost = false;
      live.status.version = -1; // the server may count from the beginning again
      say("");
      refresh();
    } else if (data.x === null) refresh(); // the map may have come since the page asked for the topics
  };
}
