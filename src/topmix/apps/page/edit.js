// Edits of the chosen topic. Each shows what it does to the scores before it is accepted.

const editor = element("dialog", { id: "editor", "aria-labelledby": "editor-title" });
document.body.append(editor);
$("topic-facts").after(
  element(
    "div",
    { id: "edits", role: "group", "aria-label": "Edit the chosen topic" },
    ...[
      ["rename", "Rename", editName],
      ["merge", "Merge", editMerge],
      ["split", "Split", editSplit],
      ["delete", "Delete", editDelete],
      ["seed", "Seed", editSeed],
      ["ban", "Ban", editBan],
      ["pin", "Pin", editPin],
      ["freeze", "Freeze", editFreeze],
    ].map(([id, title, open]) => element("button", { id: `edit-${id}`, onclick: () => open(state.topic) }, title)),
  ),
);

function drawEdits() {
  $("edits").hidden = !(live.status.can_edit || live.status.can_rename);
  for (const id of ["merge", "split", "delete"])
    $(`edit-${id}`).hidden = !live.status.can_edit || (id === "split" && !live.status.has_documents);
  for (const id of ["seed", "ban", "pin", "freeze"]) $(`edit-${id}`).hidden = !live.status.can_edit_words;
}
onTopic.push((k) => {
  $("edit-freeze").textContent = data.frozen.includes(k) ? "Unfreeze" : "Freeze";
});

// What holds for the words of the chosen topic.
$("edits").after(element("p", { id: "held", class: "hint-text", dir: "auto" }));
onTopic.push((k, { held }) => {
  const sentence = (what, { words, n }) =>
    n ? `${what}: ${words.join(" ")}${n > words.length ? ` and ${number.format(n - words.length)} more` : ""}.` : "";
  $("held").textContent = [
    data.frozen.includes(k) ? "Frozen: its words stay as they are while the model learns on." : "",
    sentence("Pinned to it", held.pinned),
    sentence("Banned from it", held.banned),
  ]
    .filter((text) => text)
    .join(" ");
  $("held").hidden = !$("held").textContent;
});

// A dialog with fields; `made` gives the edit. Accept is there when the effect is known.
function openEditor(title, about, fields, made, { preview = true, after = () => {} } = {}) {
  const effect = element("div", { id: "effect", "aria-live": "polite" });
  const accept = element("button", { id: "accept", class: "main", type: "button" }, "Accept");
  const look = element("button", { id: "preview", type: "submit", class: preview ? "main" : "" }, "Show the effect");
  accept.hidden = preview;
  look.hidden = !preview;
  const fail = (error) => {
    effect.replaceChildren(element("p", { class: "error" }, error.message));
  };
  const change = () => {
    if (preview) {
      accept.hidden = true;
      look.hidden = false;
      effect.replaceChildren();
    }
  };
  accept.onclick = async () => {
    accept.disabled = true;
    try {
      live.status = await send("apply", { edit: made() });
      editor.close();
      await refresh();
      after();
    } catch (error) {
      accept.disabled = false;
      fail(error);
    }
  };
  const form = element(
    "form",
    {
      oninput: change,
      onsubmit: async (e) => {
        e.preventDefault();
        if (!preview) {
          accept.click();
          return;
        }
        look.disabled = true;
        effect.replaceChildren(element("p", { class: "hint-text" }, "Computing …"));
        try {
          effect.replaceChildren(...previewOf(await send("preview", { edit: made() })));
          accept.hidden = false;
          look.hidden = true;
          accept.focus();
        } catch (error) {
          fail(error);
        }
        look.disabled = false;
      },
    },
    ...fields,
    effect,
    element(
      "div",
      { class: "buttons" },
      element("button", { type: "button", onclick: () => editor.close() }, "Cancel"),
      look,
      accept,
    ),
  );
  editor.replaceChildren(
    element("h2", { id: "editor-title" }, title),
    element("p", { class: "hint-text" }, about),
    form,
  );
  editor.showModal();
  form.querySelector("input, select")?.focus();
}

// The scores, and words of the topics before and after.
function previewOf({ effect, words }) {
  const said = (id, title, of, others) =>
    element(
      "p",
      { class: "words-of", dir: "auto" },
      element("b", {}, `${id} ${title}`),
      ...of.flatMap((word) => [" ", others.includes(word) ? word : element("mark", {}, word)]),
    );
  const changes = words.flatMap(({ id, before, after }) => [
    ...(before === null ? [] : [said(id, after === null ? "goes" : "now", before, after ?? before)]),
    ...(after === null ? [] : [said(id, before === null ? "new" : "after", after, before ?? after)]),
  ]);
  return [effectTable(effect), ...changes];
}

function effectTable(effect) {
  if (effect === null) return element("p", { class: "hint-text" }, "There are no documents to score it by.");
  const unseen = live.status.has_held_out ? "held-out documents" : "a sample of the documents";
  const unit = live.status.can_edit_words ? "token" : "row";
  const line = (name, before, after) =>
    before === null
      ? null
      : element(
          "tr",
          {},
          element("th", { scope: "row" }, name),
          element("td", {}, before.toFixed(4)),
          element("td", {}, after.toFixed(4)),
          Math.abs(after - before) < 0.00005
            ? element("td", {}, "no change")
            : element(
                "td",
                { class: after > before ? "better" : "worse" },
                `${after > before ? "▲ +" : "▼ −"}${Math.abs(after - before).toFixed(4)}`,
              ),
        );
  return element(
    "table",
    {},
    element(
      "thead",
      {},
      element(
        "tr",
        {},
        ...[`nats per ${unit}`, "now", "after", "change"].map((t) => element("th", { scope: "col" }, t)),
      ),
    ),
    element(
      "tbody",
      {},
      ...[
        line("objective", effect.objective_before, effect.objective_after),
        line(`words predicted, ${unseen}`, effect.completion_before, effect.completion_after),
      ].filter((row) => row !== null),
    ),
  );
}

function editName(k) {
  const input = element("input", {
    id: "edit-name",
    maxlength: 200,
    required: "",
    value: data.names[k] ?? "",
    placeholder: topWords[k].slice(0, 3).join(", "),
  });
  openEditor(
    `Rename ${titleOf(k)}`,
    "The name stays with the topic, and is saved with the model.",
    [element("label", {}, "Name", input)],
    () => ({ do: "rename", topic: k, name: input.value }),
    { preview: false },
  );
}

function editMerge(k) {
  const input = topicPicker({ id: "edit-other", required: "" });
  const chips = state.details.near.map(([j, distance]) =>
    element(
      "button",
      {
        class: "chip",
        type: "button",
        title: `distance ${distance}`,
        onclick: () => {
          input.value = pickText(j);
          input.dispatchEvent(new Event("input", { bubbles: true }));
        },
      },
      pickText(j).slice(0, 40),
    ),
  );
  openEditor(
    `Merge ${titleOf(k)}`,
    "Both become one topic, which keeps the lower number. The nearest topics:",
    [element("div", { class: "chips" }, ...chips), element("label", {}, "With topic", input)],
    () => ({ do: "merge", topics: [k, pickedTopic(input)] }),
  );
}

async function editSplit(k) {
  say("Looking for cuts …");
  const cuts = await orSay(send)("cuts", { topic: k });
  if (cuts === null) return;
  say("");
  const choices = cuts.map((cut, i) =>
    element(
      "label",
      { class: "cut" },
      element("input", { type: "radio", name: "cut", value: cut.seed, ...(i ? {} : { checked: "" }) }),
      element(
        "span",
        {},
        element("b", {}, percent(1 - cut.part)),
        ` ${cut.first.join(" ")}`,
        element("br"),
        element("b", {}, percent(cut.part)),
        ` ${cut.second.join(" ")}`,
      ),
    ),
  );
  openEditor(
    `Split ${titleOf(k)}`,
    "The words of this topic fall into two kinds. The second becomes the last topic.",
    [element("fieldset", {}, element("legend", {}, "Cuts"), ...choices)],
    () => ({ do: "split", topic: k, seed: Number(editor.querySelector("input[name=cut]:checked").value) }),
  );
}

function editDelete(k) {
  openEditor(
    `Delete ${titleOf(k)}`,
    "Its words go to other topics when the model learns on. The numbers of others stay.",
    [],
    () => ({ do: "delete", topic: k }),
  );
}

function editSeed(k) {
  const words = element("input", {
    id: "edit-words",
    required: "",
    placeholder: "words with spaces between",
    autocomplete: "off",
  });
  const where = element(
    "select",
    { id: "edit-where" },
    element("option", { value: "this" }, `pull ${titleOf(k).slice(0, 40)} towards them`),
    element("option", { value: "new" }, "a new topic with them"),
  );
  const strength = element("input", {
    id: "edit-strength",
    type: "number",
    min: 0.01,
    max: 10,
    step: "any",
    value: 0.3,
  });
  openEditor(
    "Seed words",
    "The words become part of the prior of the topic, and stay while the model learns on. " +
      "Strength 1 is as much as the documents have of them.",
    [
      element("label", {}, "Words", words),
      element("label", {}, "Make", where),
      element("label", {}, "Strength", strength),
    ],
    () => ({
      do: "seed",
      words: words.value.trim().split(/\s+/),
      topic: where.value === "new" ? null : k,
      strength: strength.valueAsNumber,
    }),
  );
}

// An editor for words of the topic, which can be chosen or typed.
function editWords(k, what, title, about) {
  const words = element("input", {
    id: "edit-words",
    required: "",
    placeholder: "words with spaces between",
    autocomplete: "off",
  });
  const add = (word) => {
    words.value = `${words.value} ${word}`.trim();
    words.dispatchEvent(new Event("input", { bubbles: true }));
  };
  const chips = bestWords(12).map(([, word]) =>
    element("button", { class: "chip", type: "button", onclick: () => add(word) }, word.slice(0, 40)),
  );
  openEditor(
    title,
    about,
    [element("div", { class: "chips" }, ...chips), element("label", {}, "Words", words)],
    () => ({ do: what, topic: k, words: words.value.trim().split(/\s+/) }),
  );
}
function editBan(k) {
  editWords(
    k,
    "ban",
    `Ban words from ${titleOf(k)}`,
    "Their tokens go to other topics, and do not come back while the model learns on.",
  );
}
function editPin(k) {
  editWords(
    k,
    "pin",
    `Pin words to ${titleOf(k)}`,
    "The topic gets all their tokens. No other topic can have them while the model learns on.",
  );
}

function editFreeze(k) {
  if (data.frozen.includes(k))
    openEditor(`Unfreeze ${titleOf(k)}`, "It changes again while the model learns on.", [], () => ({
      do: "unfreeze",
      topic: k,
    }));
  else
    openEditor(
      `Freeze ${titleOf(k)}`,
      "Its words stay as they are while the model learns on. Documents may still use it more or less.",
      [],
      () => ({ do: "freeze", topic: k }),
    );
}

function editMove(row, name, topics) {
  const input = topicPicker({ id: "edit-to", required: "" });
  const chips = topics.map(([k]) =>
    element(
      "button",
      {
        class: "chip",
        type: "button",
        onclick: () => {
          input.value = pickText(k);
          input.dispatchEvent(new Event("input", { bubbles: true }));
        },
      },
      pickText(k).slice(0, 40),
    ),
  );
  openEditor(
    `Move “${name.slice(0, 60)}”`,
    "All its tokens leave their topics and go to one. That changes the words of the topics by the weight of this " +
      "document. It stays there while the model learns on if it fits. Its topics now:",
    [element("div", { class: "chips" }, ...chips), element("label", {}, "To topic", input)],
    () => ({ do: "move", document: row, topic: pickedTopic(input) }),
    { after: () => readDocument(row) },
  );
}
