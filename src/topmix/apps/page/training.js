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
  // Sampling sweeps have another objective: the two cannot be compared, and each fills the height.
  const scaleOf = (some) => {
    const low = Math.min(...some.map(value));
    return { low, range: Math.max(...some.map(value)) - low || 1 };
  };
  const learned = rows.filter((r) => !isSweep(r));
  const { low, range } = scaleOf(learned.length ? learned : rows);
  const own = scaleOf(rows.filter(isSweep));
  const x = (i) => L + (rows.length > 1 ? i / (rows.length - 1) : 0.5) * (W - L - 20);
  const y = (o, by = { low, range }) => 15 + (1 - (o - by.low) / by.range) * (H - B - 25);
  const height = (r) => (isSweep(r) ? 30 + 0.9 * (y(value(r), own) - 15) : y(value(r)));
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
        isNarrow ? "exploring" : "exploring by sampling, on a scale of its own",
      ),
    );
  }
  const parts = { learned: "", explored: "" };
  rows.forEach((r, i) => {
    const goesOn = i > 0 && isSweep(r) === isSweep(rows[i - 1]);
    parts[isSweep(r) ? "explored" : "learned"] += `${goesOn ? "L" : "M"}${x(i).toFixed(1)} ${height(r).toFixed(1)}`;
  });
  for (const [kind, d] of Object.entries(parts)) if (d) svg.append(element("svg:path", { class: kind, d }));
  const every = Math.ceil(rows.length / (isNarrow ? 7 : 15));
  rows.forEach((r, i) => {
    const dot = element("svg:circle", {
      cx: x(i),
      cy: height(r),
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
