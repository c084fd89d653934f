// The training curve.

function drawCurve() {
  const isNarrow = innerWidth < 700;
  const rows = data.history;
  const W = isNarrow ? 400 : 900;
  const H = isNarrow ? 300 : 380;
  const L = 90;
  const B = 40;
  if (!rows.length) {
    $("training-facts").textContent = "The model has no record of its training.";
    return;
  }
  const low = Math.min(...rows.map((r) => r[2]));
  const high = Math.max(...rows.map((r) => r[2]));
  const range = high - low || 1;
  const x = (i) => L + (rows.length > 1 ? i / (rows.length - 1) : 0.5) * (W - L - 20);
  const y = (o) => 15 + (1 - (o - low) / range) * (H - B - 25);
  const svg = element("svg:svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": "Objective after each pass" });
  for (let i = 0; i <= 4; i++) {
    const o = low + (range * i) / 4;
    svg.append(
      element("svg:line", { class: "axis", x1: L, x2: W - 20, y1: y(o), y2: y(o) }),
      element(
        "svg:text",
        { x: L - 8, y: y(o) + 4, "text-anchor": "end" },
        Number(o.toPrecision(5)).toLocaleString("en"),
      ),
    );
  }
  const sweeps = rows.flatMap((r, i) => (r[3] === "sampling" ? [i] : []));
  if (sweeps.length) {
    const from = x(sweeps[0] - 0.5);
    const to = x(sweeps.at(-1) + 0.5);
    svg.prepend(
      element("svg:rect", { class: "sampling", x: from, y: 10, width: to - from, height: H - B - 10 }),
      element(
        "svg:text",
        { x: (from + to) / 2, y: 28, "text-anchor": "middle" },
        isNarrow ? "sampling" : "sampling: the topic of every token is drawn again",
      ),
    );
  }
  svg.append(
    element("svg:path", { d: rows.map((r, i) => `${i ? "L" : "M"}${x(i).toFixed(1)} ${y(r[2]).toFixed(1)}`).join("") }),
  );
  const every = Math.ceil(rows.length / (isNarrow ? 7 : 15));
  rows.forEach((r, i) => {
    const dot = element("svg:circle", { cx: x(i), cy: y(r[2]), r: rows.length > 60 ? 2 : 3.5 });
    dot.append(element("svg:title", {}, `pass ${r[0]}, ${r[1].toFixed(1)} s: ${r[2].toLocaleString("en")}`));
    svg.append(dot);
    if (i % every === 0) svg.append(element("svg:text", { x: x(i), y: H - 14, "text-anchor": "middle" }, String(r[0])));
  });
  $("curve").replaceChildren(svg);
  const ended = data.about.converged ? "the fit converged" : "the fit ended before it converged";
  const end = document.documentElement.dataset.busy ? "the fit goes on" : ended;
  $("training-facts").textContent =
    `The objective after each of ${data.about.passes}, ${rows.at(-1)[1].toFixed(1)} seconds in all; ${end}. ` +
    "Higher is better.";
}
