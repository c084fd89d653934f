// The explorer: views are drawn when they are opened, and again when the model changes.

function showTab(asked) {
  const tab = tabs.includes(asked.get("tab")) ? asked.get("tab") : "topics";
  const words = asked.get("words") ?? "";
  if (tab === "documents" && $("find-words").value !== words) {
    $("find-words").value = words;
    search.offset = 0;
    $("found-cards").replaceChildren(); // so that opening the tab finds others
  }
  openTab(tab);
  if (tab === "documents" && /^\d+$/.test(asked.get("document") ?? "")) readDocument(Number(asked.get("document")));
}

(async () => {
  const asked = await start();
  drawLive();
  for (const [tab, has] of [
    ["documents", live.status.has_documents],
    ["atlas", live.status.has_documents],
    ["charts", live.status.has_documents && source.columns().length > 0],
  ]) {
    if (has) continue;
    $(`tab-${tab}`).remove();
    $(`view-${tab}`).remove();
    tabs.splice(tabs.indexOf(tab), 1);
  }
  listenToTabs();
  fromAddress.push(showTab);
  showTab(asked);
  listen();
  document.documentElement.dataset.ready = "true";
})().catch((error) => {
  $("about").textContent = error.message;
});
