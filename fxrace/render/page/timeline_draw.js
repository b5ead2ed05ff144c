// How a timeline looks: a band per thread, regions as boxes by depth, waits as dashed frames.

const DEEP = 6;
const GROUPS = {
  compile: ["compile", "aot", "inductor", "triton", "lazy_backward", "cudagraph", "export"],
  trace: ["trace", "make_fx", "non_strict", "fake"],
  recompute: ["recompute", "checkpoint", "rng"],
  run: ["flex_eager", "hop"],
  wait: ["lock wait"],
};
const GROUP_COLOURS = {
  compile: "hung", trace: "raised", recompute: "wrong", run: "clean", wait: "ink", other: "none",
};
const GROUP_NAMES = {
  compile: "compile", trace: "trace", recompute: "checkpoint, recompute", run: "eager flex, operators",
  wait: "waits for a lock", other: "other regions",
};
const MARK_SIGNS = { collision: "▼", raised: "✖", leak: "◆", met: "●", phase: "|", step: "·" };
const MARK_COLOURS = { collision: "crashed", raised: "crashed", leak: "wrong", met: "raised", phase: "soft", step: "soft" };

function groupOf(kind) {
  return Object.keys(GROUPS).find((group) => GROUPS[group].includes(kind)) ?? "other";
}

/** The spans of a record as objects; an open end is the end of the record. */
function spansOf(record) {
  return record.spans.map(([lane, begin, end, depth, kind, name], number) => ({
    lane, begin, end: end ?? record.end_s, open: end === null, depth: Math.min(depth, DEEP - 1),
    kind: record.texts[kind], name: record.texts[name], group: groupOf(record.texts[kind]), number,
  }));
}

function spanTold(record, span) {
  const till = span.open ? "never left" : `${(1000 * (span.end - span.begin)).toPrecision(3)} ms`;
  return `${record.lanes[span.lane][0]}: ${span.kind} ${span.name}\nfrom ${span.begin.toFixed(4)} s, ${till}`;
}

function drawSpan(view) {
  return (params, api) => {
    const span = view.spans[params.dataIndex];
    const band = api.size([0, 1])[1];
    const deepest = view.depths[span.lane];
    const height = Math.min(22, (band - 22) / deepest);
    const [x, middle] = api.coord([span.begin, span.lane]);
    const right = api.coord([span.end, span.lane])[0];
    const box = { x, y: middle - band / 2 + 18 + span.depth * height, width: Math.max(right - x, 2), height: height - 2 };
    const area = params.coordSys;
    const from = Math.max(box.x, area.x);
    const till = Math.min(box.x + box.width, area.x + area.width);
    if (till <= from) return null;
    const wait = span.group === "wait";
    const hue = view.colours[span.group];
    const dimmed = view.found && !view.found.has(span.number);
    return {
      type: "rect",
      shape: { ...box, x: from, width: till - from, r: 2 },
      style: {
        fill: wait ? "transparent" : hue, stroke: hue, lineWidth: wait ? 1.5 : 0.5,
        lineDash: wait ? [4, 3] : null, opacity: dimmed ? 0.18 : 1,
      },
      textConfig: { position: "insideLeft" },
      textContent: {
        style: {
          text: till - from > 46 ? `${span.kind} ${span.name}` : "",
          fill: wait ? view.colours.wait : view.colours.on, fontSize: 11, fontFamily: FONT,
          width: till - from - 8, overflow: "truncate", opacity: dimmed ? 0.3 : 1,
        },
      },
    };
  };
}

function drawMark(view) {
  return (params, api) => {
    const mark = view.marks[params.dataIndex];
    const area = params.coordSys;
    const [x, middle] = api.coord([mark.at, mark.lane]);
    if (x < area.x || x > area.x + area.width) return null;
    const band = api.size([0, 1])[1];
    const hue = view.colours[mark.kind];
    const quiet = mark.kind === "phase" || mark.kind === "step";
    const top = middle - band / 2;
    const sign = {
      type: "text", x, y: top + 3,
      style: { text: MARK_SIGNS[mark.kind], fill: hue, fontSize: quiet ? 10 : 13, align: "center", fontWeight: "bold" },
    };
    if (mark.kind !== "collision") return sign;
    const line = {
      type: "line", shape: { x1: x, x2: x, y1: area.y, y2: area.y + area.height },
      style: { stroke: hue, lineWidth: 1.5, lineDash: [2, 3] },
    };
    return { type: "group", children: [line, sign] };
  };
}

function viewColours() {
  const found = { on: colour("on") };
  for (const group of Object.keys(GROUP_COLOURS)) found[group] = colour(GROUP_COLOURS[group]);
  for (const kind of Object.keys(MARK_COLOURS)) found[kind] = colour(MARK_COLOURS[kind]);
  return found;
}

function timelineOption(view) {
  view.colours = viewColours();
  const record = view.record;
  const names = record.lanes.map(([thread, , kind]) => (kind === "device" ? `${thread}\n(autograd)` : thread));
  const narrow = view.element.clientWidth < 560;
  return {
    animation: false,
    grid: { left: narrow ? 70 : 112, right: 14, top: 8, bottom: 64 },
    tooltip: tooltipStyle((params) => (params.seriesIndex ? view.marks[params.dataIndex].told : spanTold(record, view.spans[params.dataIndex]))),
    xAxis: axisStyle({
      type: "value", min: 0, max: record.end_s, name: "seconds", nameLocation: "middle", nameGap: 24,
      axisLabel: { color: colour("ink"), hideOverlap: true, formatter: (value) => String(Number(value.toFixed(4))) },
    }),
    yAxis: axisStyle({
      type: "category", data: names, inverse: true, axisTick: { show: false },
      axisLabel: { color: colour("ink"), width: narrow ? 58 : 100, overflow: "truncate", fontFamily: FONT },
    }),
    dataZoom: [
      { type: "inside", xAxisIndex: 0, filterMode: "none", zoomOnMouseWheel: "ctrl", moveOnMouseWheel: false, preventDefaultMouseMove: false },
      {
        type: "slider", xAxisIndex: 0, filterMode: "none", height: 18, bottom: 8, showDataShadow: false,
        borderColor: colour("line"), textStyle: { color: colour("ink") }, labelFormatter: (value) => `${value.toFixed(3)} s`,
        fillerColor: "rgba(128,128,128,.25)", handleStyle: { color: colour("soft") }, brushSelect: false,
      },
    ],
    series: [
      { type: "custom", renderItem: drawSpan(view), encode: { x: [1, 2], y: 0 }, data: view.spans.map((s) => [s.lane, s.begin, s.end]), clip: true },
      { type: "custom", renderItem: drawMark(view), encode: { x: 1, y: 0 }, data: view.marks.map((m) => [m.lane, m.at]), z: 5 },
    ],
  };
}
