// The explorer: views are drawn when they are opened, and again when the model changes.

(async () => {
  const asked = await start();
  drawLive();
  if (!live.status.has_documents) { $("tab-documents").remove(); $("view-documents").remove(); tabs.splice(tabs.indexOf("documents"), 1); listenToTabs(); }
  const tab = asked.get("tab");
  if (tabs.includes(tab)) {
    if (asked.has("words")) $("find-words").value = asked.get("words");
    openTab(tab);
    if (tab === "documents" && /^\d+$/.test(asked.get("document") ?? "")) readDocument(Number(asked.get("document")));
  }
  listen();
  document.documentElement.dataset.ready = "true";
})().catch((error) => { $("about").textContent = error.message; });
