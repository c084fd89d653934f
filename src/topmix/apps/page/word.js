// The selected word: the topics that use it.

let wordsAsked = 0;
async function selectWord(word) {
  const asked = ++wordsAsked;
  const found = await source.word(word);
  if (found === null || asked !== wordsAsked) return; // unknown, or another was chosen meanwhile, or none
  state.word = found.word;
  state.wordTopics = found.topics;
  state.query = $("search").value = found.word;
  map.classList.add("asked");
  circles.forEach((circle) => {
    circle.style.fillOpacity = "";
  });
  for (const [k, weight] of found.topics) circles[k]?.style.setProperty("fill-opacity", 0.2 + 0.8 * weight);
  $("word-card").replaceChildren(
    element(
      "h2",
      {},
      element("span", { dir: "auto" }, `“${found.word.slice(0, 100)}”`),
      element("button", { "aria-label": "Clear the word", onclick: clearWord }, "×"),
    ),
    ...found.topics.map(([k, weight]) =>
      meter(data.ids[k], weight, topWords[k].slice(0, 4).join(" "), { hue: hue(k), onclick: () => selectTopic(k) }),
    ),
  );
  $("word-card").hidden = false;
  filterTopics();
  if (found.topics.length) selectTopic(found.topics[0][0]);
  else updateMap();
  updateAddress();
}

function clearWord() {
  wordsAsked += 1;
  state.word = null;
  state.wordTopics = [];
  state.query = $("search").value = "";
  map.classList.remove("asked");
  circles.forEach((circle) => {
    circle.style.fillOpacity = "";
  });
  $("word-card").hidden = true;
  filterTopics();
  scrollToTopic(state.topic);
  drawList();
  updateMap();
  updateAddress();
}
