// The cell of a notebook that shows the explorer: its page in a frame of its own, which can reach nothing but this, and
// messages between the page and the kernel. The table of topics before it, which a saved notebook shows, is hidden.

const isDark = () =>
  document.body.dataset.jpThemeLight === "false" || document.body.classList.contains("vscode-dark") || undefined;

function render({ model, el }) {
  const frame = document.createElement("iframe");
  frame.title = "topmix: the explorer";
  frame.sandbox = "allow-scripts allow-forms allow-downloads allow-popups";
  frame.style.cssText = `width: 100%; height: ${model.get("height")}px; border: 1px solid #8884; border-radius: 4px`;
  const page = model.get("page");
  frame.srcdoc = isDark() ? page.replace("<html", '<html data-theme="dark"') : page;
  const view = Math.random().toString(36).slice(2); // a cell can be shown twice, and each asks for itself

  const fromPage = ({ source, data }) => {
    if (source !== frame.contentWindow) return;
    if (data.path !== undefined) {
      model.send({ ...data, view });
      return;
    }
    for (const name of ["address", "documents"]) if (data[name] !== undefined) model.set(name, data[name]);
    model.save_changes();
  };
  const fromKernel = (said, buffers) => {
    if (said.view !== undefined && said.view !== view) return;
    const content = buffers?.[0];
    const bytes = content && new Uint8Array(content.buffer, content.byteOffset, content.byteLength).slice();
    frame.contentWindow?.postMessage({ ...said, content: bytes }, "*");
  };
  addEventListener("message", fromPage);
  model.on("msg:custom", fromKernel);
  el.append(frame);
  const still = `.topmix-still-${model.get("name")}`;
  const rule = document.createElement("style");
  rule.textContent = `${still}, .jp-OutputArea-child:has(${still}), .output_area:has(${still}) { display: none }`;
  document.head.append(rule);
  return () => {
    rule.remove();
    removeEventListener("message", fromPage);
    model.off("msg:custom", fromKernel);
  };
}

export default { render };
