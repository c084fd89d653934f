// The training curve.

function drawCurve() {
  const isNarrow = innerWidth < 700;
  const running = source.passes?.() ?? null; // of a fit that goes on
  const rows = running ?? data.history;
  const W = isNarrow ? 400 : 900;
  const H = isNarrow ? 300 : 380;
  const L = isNarrow ? 70 : 90;
  const B = 54;
  if (!rows.length) {
    $("curve").replaceChildren();
    $("training-facts").textContent =
      running === null ? "The model has no record of its training." : "The first pass is not over yet.";
    return;
  }
  const tokens = data.about.tokens || 1;
  const unit = data.about.tokens ? "nats per token" : "objective";
  const value = (row) => row[2] / tokens;
  const isSweep = (row) => row[3] === "sampling";
  // Sampling sweeps explore: their values may fall, and do not choose the scale.
  const learned = rows.some((r) => !isSweep(r)) ? rows.filter((r) => !isSweep(r)) : rows;
  const low = Math.min(...learned.map(value));
  const high = Math.max(...learned.map(value));
  const range = high - low || 1;
  const x = (i) => L + (rows.length > 1 ? i / (rows.length - 1) : 0.5) * (W - L - 20);
  const y = (o) => 15 + (1 - Math.max((o - low) / range, 0)) * (H - B - 25);
  const svg = element("svg:svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": `${unit} after each pass` });
  for (let i = 0; i <= 4; i++) {
    const o = low + (range * i) / 4;
    svg.append(
      element("svg:line", { class: "axis", x1: L, x2: W - 20, y1: y(o), y2: y(o) }),
      element(
        "svg:text",
        { x: L - 8, y: y(o) + 4, "text-anchor": "end" },
        Number(o.toPrecision(4)).toLocaleString("en", { maximumFractionDigits: 4 }),
      ),
    );
  }
  svg.append(
    element("svg:text", { x: (L + W - 20) / 2, y: H - 4, "text-anchor": "middle" }, "pass or sampling sweep"),
    element(
      "svg:text",
      { transform: `translate(14 ${(H - B) / 2}) rotate(-90)`, "text-anchor": "middle", class: "axis-name" },
      unit,
    ),
  );
  const sweeps = rows.flatMap((r, i) => (isSweep(r) ? [i] : []));
  if (sweeps.length) {
    const from = Math.max(x(sweeps[0] - 0.5), L);
    const to = Math.min(x(sweeps.at(-1) + 0.5), W - 20);
    svg.prepend(
      element("svg:rect", { class: "sampling", x: from, y: 10, width: Math.max(to - from, 0), height: H - B - 10 }),
      element(
        "svg:text",
        { x: (from + to) / 2, y: 28, "text-anchor": "middle" },
        isNarrow ? "exploring" : "exploring: topics of tokens are drawn at random",
      ),
    );
  }
  const parts = { learned: "", explored: "" };
  rows.forEach((r, i) => {
    const at = `${x(i).toFixed(1)} ${y(value(r)).toFixed(1)}`;
    const kind = isSweep(r) || (i && isSweep(rows[i - 1])) ? "explored" : "learned";
    parts[kind] += i ? `M${x(i - 1).toFixed(1)} ${y(value(rows[i - 1])).toFixed(1)}L${at}` : `M${at}`;
  });
  for (const [kind, d] of Object.entries(parts)) if (d) svg.append(element("svg:path", { class: kind, d }));
  const every = Math.ceil(rows.length / (isNarrow ? 7 : 15));
  rows.forEach((r, i) => {
    const dot = element("svg:circle", {
      cx: x(i),
      cy: y(value(r)),
      r: rows.length > 60 ? 2 : 3.5,
      class: isSweep(r) ? "explored" : "learned",
    });
    const what = isSweep(r) ? "sweep" : "pass";
    dot.append(element("svg:title", {}, `${what} ${r[0]}, ${r[1].toFixed(1)} s: ${value(r).toPrecision(6)}`));
    svg.append(dot);
    if (i % every === 0)
      svg.append(element("svg:text", { x: x(i), y: H - B + 16, "text-anchor": "middle" }, String(r[0])));
  });
  $("curve").replaceChildren(svg);
  const ended = data.about.converged ? "the fit converged" : "the fit ended before it converged";
  const made = running === null ? `${data.about.passes}, ` : "";
  $("training-facts").textContent =
    `The objective, ${made}${rows.at(-1)[1].toFixed(1)} seconds; ${running === null ? ended : "the fit goes on"}. ` +
    "Higher is better.";
}
