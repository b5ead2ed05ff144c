// The timeline of a trial: zoom, search and keyboard, and the same as a table for those who read.

const STEP = 0.5;
const ROWS = 300;

/** Sets the window that is shown, in seconds, and says it in data-from and data-to. */
function showWindow(view, from, to) {
  const end = view.record.end_s;
  const width = Math.min(Math.max(to - from, 1e-4), end);
  view.from = Math.min(Math.max(from, 0), end - width);
  view.to = view.from + width;
  view.element.dataset.from = view.from.toFixed(6);
  view.element.dataset.to = view.to.toFixed(6);
  if (!view.chart) return;
  view.quiet = true;
  view.chart.dispatchAction({ type: "dataZoom", startValue: view.from, endValue: view.to });
  view.quiet = false;
}

function zoom(view, factor) {
  const middle = (view.from + view.to) / 2;
  const half = ((view.to - view.from) / 2) * factor;
  showWindow(view, middle - half, middle + half);
}

function pan(view, share) {
  const by = (view.to - view.from) * share;
  showWindow(view, view.from + by, view.to + by);
}

function showAll(view) {
  showWindow(view, 0, view.record.end_s);
}

/** A window wide enough to see what leads to the collision and what comes of it. */
function showCollision(view) {
  const first =
    view.marks.find((mark) => mark.kind === "collision") ??
    view.marks.find((mark) => mark.kind === "raised");
  if (!first) return;
  const half = Math.max(view.record.end_s / 20, 0.01);
  showWindow(view, first.at - half, first.at + half);
  announce(`${first.kind} at ${first.at.toFixed(4)} s: ${first.told}`);
}

function searchSpans(view) {
  const words = wordsOf(view.search);
  const hits = words.length
    ? view.spans.filter((span) => matches(spanTold(view.record, span).toLowerCase(), words))
    : null;
  view.hits = hits ?? [];
  view.found = hits && new Set(hits.map((span) => span.number));
  view.at = -1;
  view.count.textContent = hits ? counted(hits.length, "hit") : "";
  if (view.chart) view.chart.setOption(timelineOption(view));
  showWindow(view, view.from, view.to);
  drawSpanTable(view);
}

function nextHit(view, by) {
  if (!view.hits.length) return;
  view.at = (view.at + by + view.hits.length) % view.hits.length;
  const span = view.hits[view.at];
  const margin = Math.max((span.end - span.begin) / 2, 0.002);
  showWindow(view, span.begin - margin, span.end + margin);
  const told = spanTold(view.record, span).replace("\n", ", ");
  view.count.textContent = `${view.at + 1} of ${view.hits.length}: ${told}`;
  announce(told);
}

const KEYS = {
  ArrowLeft: (view) => pan(view, -0.2),
  ArrowRight: (view) => pan(view, 0.2),
  "+": (view) => zoom(view, STEP),
  "=": (view) => zoom(view, STEP),
  "-": (view) => zoom(view, 1 / STEP),
  0: showAll,
  Home: showAll,
  c: showCollision,
};

function tool(text, act, title) {
  return el("button", { type: "button", title, onclick: act }, text);
}

function tools(view) {
  view.search = el("input", { type: "search", id: "timeline-search" });
  view.search.addEventListener("input", () => searchSpans(view));
  view.search.addEventListener("keydown", (event) => {
    if (event.key === "Enter") nextHit(view, event.shiftKey ? -1 : 1);
  });
  view.count = el("output", { for: "timeline-search" });
  const collided = view.marks.some((mark) => mark.kind === "collision" || mark.kind === "raised");
  return el(
    "div",
    { class: "timeline-tools" },
    tool("zoom in", () => zoom(view, STEP), "key +"),
    tool("zoom out", () => zoom(view, 1 / STEP), "key -"),
    tool("◀", () => pan(view, -0.2), "earlier: left arrow"),
    tool("▶", () => pan(view, 0.2), "later: right arrow"),
    tool("whole", () => showAll(view), "key 0"),
    collided ? tool("collision", () => showCollision(view), "key c") : null,
    el("label", {}, "find ", view.search),
    tool("next", () => nextHit(view, 1), "Enter in the search field"),
    view.count,
  );
}

function legend(view) {
  const groups = Object.keys(GROUP_NAMES).filter((group) =>
    view.spans.some((span) => span.group === group),
  );
  const signs = Object.keys(MARK_SIGNS).filter((kind) =>
    view.marks.some((mark) => mark.kind === kind),
  );
  return el(
    "ul",
    { class: "legend" },
    ...groups.map((group) =>
      el("li", {}, el("span", { class: `swatch s-${group}` }), GROUP_NAMES[group]),
    ),
    ...signs.map((kind) => el("li", {}, `${MARK_SIGNS[kind]} ${kind}`)),
  );
}

function drawSpanTable(view) {
  const shown = (view.found ? view.hits : view.spans).slice(0, ROWS);
  view.rows.replaceChildren(
    ...shown.map((span) =>
      el(
        "tr",
        {},
        el("td", {}, view.record.lanes[span.lane][0]),
        el("td", {}, span.kind),
        el("td", {}, span.name),
        el("td", { class: "number" }, span.begin.toFixed(4)),
        el("td", { class: "number" }, span.open ? "never left" : span.end.toFixed(4)),
      ),
    ),
  );
}

function spanTable(view) {
  const heads = ["thread", "region", "of", "from, s", "to, s"].map((text) =>
    el("th", { scope: "col" }, text),
  );
  view.rows = el("tbody");
  drawSpanTable(view);
  const table = el("table", { class: "small" }, el("thead", {}, el("tr", {}, ...heads)), view.rows);
  const box = el(
    "div",
    { class: "scroll tall", tabindex: "0", role: "group", "aria-label": "Regions of this trial" },
    table,
  );
  const events = view.marks.filter((mark) => mark.kind !== "step" && mark.kind !== "phase");
  const told = events.map((mark) =>
    el(
      "li",
      {},
      `${mark.at.toFixed(4)} s, ${view.record.lanes[mark.lane][0]}, ${mark.kind}: ${mark.told}`,
    ),
  );
  return el(
    "details",
    {},
    el("summary", { class: "small" }, "the same as a table"),
    el("ul", { class: "plain small" }, ...told),
    box,
  );
}

/** The whole view of a recorded trial. */
function timelineOf(record) {
  const marks = record.marks.map(([lane, at, kind, told]) => ({ lane, at, kind, told }));
  const view = {
    record,
    spans: spansOf(record),
    marks,
    found: null,
    hits: [],
    at: -1,
    chart: null,
    from: 0,
    to: record.end_s,
  };
  layLanes(view);
  const title =
    "Timeline: arrow keys move, plus and minus zoom, 0 shows all, c the collision; the table below says the same";
  view.element = el("div", {
    class: "chart timeline",
    tabindex: "0",
    role: "application",
    "aria-label": title,
  });
  view.element.style.height = `${view.height + 84}px`;
  view.element.addEventListener("keydown", (event) => {
    if (!KEYS[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    KEYS[event.key](view);
  });
  makeChart(
    view.element,
    () => timelineOption(view),
    (chart) => {
      view.chart = chart;
      showWindow(view, view.from, view.to);
      chart.on("datazoom", () => {
        if (view.quiet) return;
        const range = chart.getOption().dataZoom[0];
        view.from = range.startValue;
        view.to = range.endValue;
        view.element.dataset.from = view.from.toFixed(6);
        view.element.dataset.to = view.to.toFixed(6);
      });
    },
  );
  showWindow(view, view.from, view.to);
  const left = record.left_out
    ? el("p", { class: "small soft" }, `${counted(record.left_out, "short region")} left out`)
    : null;
  const other = el(
    "p",
    { class: "small soft" },
    "The same for Perfetto: ",
    el("code", {}, "fxrace report --format perfetto"),
  );
  return el("div", {}, tools(view), view.element, legend(view), left, spanTable(view), other);
}
