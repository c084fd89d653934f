// A topic over time, or by group: the mean share of the topic in the documents of each.

$("documents-title").before(
  element(
    "section",
    { id: "groups", "aria-label": "Over time and by group" },
    element("h3", {}, "Over time and by group"),
    element("label", { class: "row" }, "Column", element("select", { id: "group-column" })),
    element("div", { id: "group-chart" }),
  ),
);
$("group-column").onchange = () => drawGroups(state.topic);

async function drawGroups(k) {
  const columns = source.columns();
  const chosen = $("group-column");
  $("groups").hidden = !columns.length;
  if (!columns.length) return;
  if (chosen.options.length !== columns.length)
    chosen.replaceChildren(...columns.map((c) => element("option", { value: c.name }, c.name)));
  const found = await source.groups(chosen.value, k);
  if (k !== state.topic) return;
  if (found.pending) {
    $("group-chart").replaceChildren(element("p", { class: "hint-text" }, found.pending));
    return;
  }
  const most = Math.max(...found.groups.map((g) => g[2] ?? 0), 1e-12);
  $("group-chart").replaceChildren(
    found.is_time
      ? timeChart(found.groups, most)
      : element(
          "div",
          {},
          ...found.groups.map(([name, n, share]) =>
            element(
              "div",
              { class: "meter group", title: `${number.format(n)} documents` },
              element(
                "span",
                { class: "track" },
                element("i", { style: `width:${(100 * (share ?? 0)) / most}%` }),
                element("span", { dir: "auto" }, name),
              ),
              element("span", { class: "value" }, share === null ? "–" : percent(share)),
            ),
          ),
        ),
  );
}

// Years as years, and months as months.
function periodNames(groups, isTime) {
  const ends = (text) => isTime && groups.every((group) => group.endsWith(text));
  const length = ends("-01-01") ? 4 : ends("-01") ? 7 : 200;
  return groups.map((group) => group.slice(0, length));
}

function timeChart(groups, most) {
  const names = periodNames(
    groups.map(([day]) => day),
    true,
  );
  const W = 360;
  const H = 120;
  const B = 18;
  const width = W / groups.length;
  const period = `from ${names[0]} to ${names.at(-1)}`;
  const label = `Share of the topic in each period, ${period}; at most ${percent(most)}`;
  const svg = element("svg:svg", { viewBox: `0 0 ${W} ${H}`, role: "img", class: "bars", "aria-label": label });
  groups.forEach(([, n, share], i) => {
    const h = ((H - B) * (share ?? 0)) / most;
    const bar = element("svg:rect", { x: i * width + width * 0.08, y: H - B - h, width: width * 0.84, height: h });
    bar.append(
      element(
        "svg:title",
        {},
        `${names[i]}: ${share === null ? "no documents" : `${percent(share)} of ${number.format(n)} documents`}`,
      ),
    );
    svg.append(bar);
  });
  svg.append(
    element("svg:text", { x: 0, y: H - 4 }, names[0]),
    element("svg:text", { x: W, y: H - 4, "text-anchor": "end" }, names.at(-1)),
  );
  return svg;
}
onTopic.push(drawGroups);
