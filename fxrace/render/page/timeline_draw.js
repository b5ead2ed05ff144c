// How a timeline looks: a band per thread, regions as boxes by depth, waits as dashed frames.
// One unit of the y axis is one pixel, so that a thread with little to show takes little room.

const DEEP = 6;
const BOX = 20;
const LANE_HEAD = 20;
const LANE_FOOT = 8;
const GROUPS = {
  compile: ["compile", "aot", "inductor", "triton", "lazy_backward", "cudagraph", "export"],
  trace: ["trace", "make_fx", "non_strict", "fake"],
  recompute: ["recompute", "checkpoint", "rng"],
  run: ["flex_eager", "hop"],
  wait: ["lock wait"],
};
const GROUP_COLOURS = {
  compile: "hung",
  trace: "raised",
  recompute: "wrong",
  run: "clean",
  wait: "ink",
  other: "none",
};
const GROUP_NAMES = {
  compile: "compile",
  trace: "trace",
  recompute: "checkpoint, recompute",
  run: "eager flex, operators",
  wait: "waits for a lock",
  other: "other regions",
};
const MARK_SIGNS = { collision: "▼", raised: "✖", leak: "◆", met: "●", phase: "|", step: "·" };
const MARK_COLOURS = {
  collision: "crashed",
  raised: "crashed",
  leak: "wrong",
  met: "raised",
  phase: "soft",
  step: "soft",
};

function groupOf(kind) {
  return Object.keys(GROUPS).find((group) => GROUPS[group].includes(kind)) ?? "other";
}

/** The spans of a record as objects; an open end is the end of the record. */
function spansOf(record) {
  return record.spans.map(([lane, begin, end, depth, kind, name], number) => ({
    lane,
    begin,
    end: end ?? record.end_s,
    open: end === null,
    depth: Math.min(depth, DEEP - 1),
    kind: record.texts[kind],
    name: record.texts[name],
    group: groupOf(record.texts[kind]),
    number,
  }));
}

function spanTold(record, span) {
  const till = span.open ? "never left" : `${(1000 * (span.end - span.begin)).toPrecision(3)} ms`;
  return `${record.lanes[span.lane][0]}: ${span.kind} ${span.name}\nfrom ${span.begin.toFixed(4)} s, ${till}`;
}

function drawSpan(view) {
  return (params, api) => {
    const span = view.spans[params.dataIndex];
    const [x, y] = api.coord([span.begin, view.tops[span.lane] + LANE_HEAD + span.depth * BOX]);
    const right = api.coord([span.end, 0])[0];
    const box = { x, y, width: Math.max(right - x, 2), height: BOX - 2 };
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
        fill: wait ? "transparent" : hue,
        stroke: hue,
        lineWidth: wait ? 1.5 : 0.5,
        lineDash: wait ? [4, 3] : null,
        opacity: dimmed ? 0.18 : 1,
      },
      textConfig: { position: "insideLeft" },
      textContent: {
        style: {
          text: till - from > 46 ? `${span.kind} ${span.name}` : "",
          fill: wait ? view.colours.wait : view.colours.on,
          fontSize: 11,
          fontFamily: FONT,
          width: till - from - 8,
          overflow: "truncate",
          opacity: dimmed ? 0.3 : 1,
        },
      },
    };
  };
}

function drawMark(view) {
  return (params, api) => {
    const mark = view.marks[params.dataIndex];
    const area = params.coordSys;
    const [x, top] = api.coord([mark.at, view.tops[mark.lane]]);
    if (x < area.x || x > area.x + area.width) return null;
    const hue = view.colours[mark.kind];
    const quiet = mark.kind === "phase" || mark.kind === "step";
    const sign = {
      type: "text",
      x,
      y: top + 3,
      style: {
        text: MARK_SIGNS[mark.kind],
        fill: hue,
        fontSize: quiet ? 10 : 13,
        align: "center",
        fontWeight: "bold",
      },
    };
    if (mark.kind !== "collision") return sign;
    const line = {
      type: "line",
      shape: { x1: x, x2: x, y1: area.y, y2: area.y + area.height },
      style: { stroke: hue, lineWidth: 1.5, lineDash: [2, 3] },
    };
    return { type: "group", children: [line, sign] };
  };
}

/** The name of a thread left of its band, and a line above it. */
function drawLane(view) {
  return (params, api) => {
    const [thread, , kind] = view.record.lanes[params.dataIndex];
    const area = params.coordSys;
    const y = api.coord([0, view.tops[params.dataIndex]])[1];
    const name = kind === "device" ? `${thread} (autograd)` : thread;
    const style = {
      text: name,
      fill: view.colours.ink,
      fontSize: 12,
      fontFamily: FONT,
      align: "right",
      width: area.x - 14,
      overflow: "truncate",
    };
    const rule = { x1: 0, x2: area.x + area.width, y1: y, y2: y };
    return {
      type: "group",
      silent: true,
      children: [
        { type: "text", x: area.x - 8, y: y + 4, style },
        {
          type: "line",
          shape: rule,
          style: { stroke: view.colours.line, lineWidth: params.dataIndex ? 1 : 0 },
        },
      ],
    };
  };
}

/** Where each band begins and how high all of them are, in pixels. */
function layLanes(view) {
  let top = 0;
  view.tops = view.record.lanes.map((_, lane) => {
    const own = view.spans.filter((span) => span.lane === lane);
    const deep = own.length ? Math.max(...own.map((span) => span.depth + 1)) : 0;
    const here = top;
    top += LANE_HEAD + deep * BOX + LANE_FOOT;
    return here;
  });
  view.height = top;
}

function viewColours() {
  const found = { on: colour("on"), ink: colour("ink"), line: colour("line") };
  for (const group of Object.keys(GROUP_COLOURS)) found[group] = colour(GROUP_COLOURS[group]);
  for (const kind of Object.keys(MARK_COLOURS)) found[kind] = colour(MARK_COLOURS[kind]);
  return found;
}

function timelineOption(view) {
  view.colours = viewColours();
  const record = view.record;
  const narrow = view.element.clientWidth < 560;
  return {
    animation: false,
    grid: { left: narrow ? 82 : 124, right: 22, top: 8, height: view.height },
    tooltip: tooltipStyle((params) =>
      params.seriesIndex === 1
        ? view.marks[params.dataIndex].told
        : spanTold(record, view.spans[params.dataIndex]),
    ),
    xAxis: axisStyle({
      type: "value",
      position: "bottom",
      min: 0,
      max: record.end_s,
      name: "seconds",
      nameLocation: "middle",
      nameGap: 24,
      axisLine: { show: false, onZero: false },
      axisTick: { show: false },
      axisLabel: {
        color: colour("ink"),
        hideOverlap: true,
        showMaxLabel: false,
        formatter: (value) => String(Number(value.toFixed(4))),
      },
    }),
    yAxis: { type: "value", min: 0, max: view.height, inverse: true, show: false },
    dataZoom: [
      {
        type: "inside",
        xAxisIndex: 0,
        filterMode: "none",
        zoomOnMouseWheel: "ctrl",
        moveOnMouseWheel: false,
        preventDefaultMouseMove: false,
      },
      {
        type: "slider",
        xAxisIndex: 0,
        filterMode: "none",
        height: 18,
        bottom: 8,
        showDataShadow: false,
        borderColor: colour("line"),
        textStyle: { color: colour("ink") },
        labelFormatter: (value) => `${value.toFixed(3)} s`,
        fillerColor: "rgba(128,128,128,.25)",
        handleStyle: { color: colour("soft") },
        brushSelect: false,
      },
    ],
    series: [
      {
        type: "custom",
        renderItem: drawSpan(view),
        encode: { x: [1, 2], y: 0 },
        data: view.spans.map((s) => [s.lane, s.begin, s.end]),
        clip: true,
      },
      {
        type: "custom",
        renderItem: drawMark(view),
        encode: { x: 1, y: 0 },
        data: view.marks.map((m) => [m.lane, m.at]),
        z: 5,
      },
      {
        type: "custom",
        renderItem: drawLane(view),
        encode: { x: [] },
        data: record.lanes.map((_, lane) => [0, lane]),
        silent: true,
        z: 1,
      },
    ],
  };
}
