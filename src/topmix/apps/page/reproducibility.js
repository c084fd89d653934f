// Of a consensus: how many fits have the topic, as a bar below its facts, and words that come and go, faded.

$("topic-facts").after(element("div", { id: "again", hidden: true }));

function fadeWords() {
  const unsteady = new Set(data.unsteady?.[state.topic]);
  for (const row of document.querySelectorAll("#words button.word")) {
    const comesAndGoes = unsteady.has(row.querySelector(".track span").textContent);
    row.classList.toggle("unsteady", comesAndGoes);
    if (comesAndGoes) row.title = "comes and goes from fit to fit";
  }
}

onTopic.push((k) => {
  const found = data.reproducibility?.[k]; // null where the topic was changed since
  $("again").hidden = !found;
  fadeWords();
  if (!found) return;
  const [share, low, high, reliability] = found;
  $("again").replaceChildren(
    element(
      "span",
      { class: "track" },
      element("i", { style: `width:${100 * share}%` }),
      element("b", { style: `left:${100 * low}%;width:${100 * (high - low)}%` }),
    ),
    element(
      "span",
      {},
      `in ${percent(share)} of ${number.format(data.n_fits)} fits (${percent(low)} to ${percent(high)}); ` +
        `reliability ${reliability.toFixed(2)}`,
    ),
  );
});
$("relevance").addEventListener("input", fadeWords);
