// The report: all its data is here, so all views are drawn at once.

(async () => {
  await start();
  fromAddress.push(() => openTab("topics"));
  await drawTree();
  document.documentElement.dataset.ready = "true";
})();
