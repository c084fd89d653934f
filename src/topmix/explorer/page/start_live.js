// The explorer: views are drawn when they are opened, and again when the model changes.

(async () => {
  const asked = await start();
  drawLive();
  for (const [tab, has] of [["documents", live.status.has_documents], ["models", live.status.has_other]]) {
    if (has) continue;
    $(`tab-${tab}`).remove();
    $(`view-${tab}`).remove();
    tabs.splice(tabs.indexOf(tab), 1);
  }
  listenToTabs();
  const tab = asked.get("tab");
  if (tabs.includes(tab)) {
    if (asked.has("words")) $("find-words").value = asked.get("words");
    openTab(tab);
    if (tab === "documents" && /^\d+$/.test(asked.get("document") ?? "")) readDocument(Number(asked.get("document")));
  }
  listen();
  document.documentElement.dataset.ready = "true";
})().catch((error) => { $("about").textContent = error.message; });
