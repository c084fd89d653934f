// The selected word: the topics that use it.

function selectWord(v) {
  state.word = v;
  state.query = $("search").value = words[v];
  map.classList.add("asked");
  const found = topicsOf(v);
  circles.forEach((circle) => { circle.style.fillOpacity = ""; });
  for (const [k, weight] of found) circles[k].style.fillOpacity = 0.2 + 0.8 * weight;
  $("word-card").replaceChildren(
    element("h2", {}, `“${words[v]}”`, element("button", { "aria-label": "Clear the word", onclick: clearWord }, "×")),
    ...found.map(([k, weight]) => element("button", { class: "meter", hue: hue(k), onclick: () => selectTopic(k) },
      element("span", { class: "number" }, String(k)),
      element("span", { class: "track" }, element("i", { style: `width:${100 * weight}%` }), element("span", {}, topWords[k].slice(0, 4).join(" "))),
      element("span", { class: "value" }, percent(weight)))));
  $("word-card").hidden = false;
  filterTopics();
  if (found.length) selectTopic(found[0][0]);
  else updateMap();
  updateAddress();
}

function clearWord() {
  state.word = null;
  state.query = $("search").value = "";
  map.classList.remove("asked");
  circles.forEach((circle) => { circle.style.fillOpacity = ""; });
  $("word-card").hidden = true;
  filterTopics();
  scrollToTopic(state.topic);
  drawList();
  updateMap();
  updateAddress();
}
