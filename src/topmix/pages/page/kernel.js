// In a cell of a notebook there is no server: what the page asks for goes to the kernel, through the cell around this
// frame (notebook.js), and so do its address and its exports. These names stand before those of the browser.

const kernel = { asked: 0, waiting: new Map(), events: [] };

addEventListener("message", ({ source: from, data: said }) => {
  if (from !== parent) return;
  if (said.event !== undefined) for (const each of kernel.events) each.onmessage?.({ data: said.event });
  const answered = kernel.waiting.get(said.id);
  if (answered === undefined) return;
  kernel.waiting.delete(said.id);
  answered(said);
});

function askKernel(path, method, body) {
  kernel.asked += 1;
  const id = kernel.asked;
  return new Promise((answered) => {
    kernel.waiting.set(id, answered);
    parent.postMessage({ id, path, method, body }, "*");
  });
}

async function fetch(path, { method = "GET", body = "" } = {}) {
  const { status, content } = await askKernel(path, method, body);
  return { ok: status < 400, status, json: async () => JSON.parse(new TextDecoder().decode(content)) };
}

function EventSource() {
  kernel.events.push(this);
}

queueMicrotask(() => {
  source.chose = (documents) => parent.postMessage({ documents }, "*"); // those of a lasso
});

const history = { replaceState: (state, title, address) => parent.postMessage({ address }, "*") };

addEventListener("click", async (e) => {
  const link = e.target.closest?.("a[download]");
  if (!link) return;
  e.preventDefault();
  const { status, content } = await askKernel(link.getAttribute("href"), "GET", "");
  if (status >= 400) {
    say(JSON.parse(new TextDecoder().decode(content)).error, true);
    return;
  }
  const saved = element("a", { href: URL.createObjectURL(new Blob([content])) });
  saved.download = link.download;
  saved.click();
  setTimeout(() => URL.revokeObjectURL(saved.href), 60_000);
});
