// Safety against speed: every configuration a point, with its intervals, and the front as a line.

function pointShape(point) {
  if (!point.k) return "circle";
  return point.k === point.n ? "triangle" : "diamond";
}

function pointColour(point) {
  return colour(point.k ? (point.k === point.n ? "crashed" : "raised") : "clean");
}

function pointName(point) {
  return cellName(cells[point.cells[0]], chosenAxes);
}

function pointTold(point) {
  return [
    pointName(point).replaceAll(", ", "\n"),
    `${point.k} of ${point.n} failed (${interval(point.low, point.high)})`,
    speedText(point.speed),
    ...(point.oversubscribed ? ["oversubscribed"] : []),
  ].join("\n");
}

/** Two bars through a point: the range of its speed and the interval of its failure rate. */
function whiskers(points) {
  return (params, api) => {
    const point = points[params.dataIndex];
    const [left, right, low, high] = [
      api.coord([point.speed[1], (100 * point.k) / point.n]),
      api.coord([point.speed[2], (100 * point.k) / point.n]),
      api.coord([point.speed[0], 100 * point.low]),
      api.coord([point.speed[0], 100 * point.high]),
    ];
    const style = { stroke: colour("soft"), lineWidth: 1, opacity: 0.45 };
    const line = (a, b) => ({
      type: "line",
      shape: { x1: a[0], y1: a[1], x2: b[0], y2: b[1] },
      style,
    });
    return { type: "group", silent: true, children: [line(left, right), line(low, high)] };
  };
}

function frontLine(front) {
  return (params, api) => {
    const places = front.map((point) => api.coord([point.speed[0], (100 * point.k) / point.n]));
    const style = { stroke: colour("ink"), lineWidth: 2, lineDash: [6, 4], fill: "none" };
    return { type: "polyline", silent: true, shape: { points: places }, style };
  };
}

function frontOption(points) {
  const front = points.filter((point) => point.front).sort((a, b) => a.speed[0] - b.speed[0]);
  const data = points.map((point) => ({
    value: [point.speed[0], (100 * point.k) / point.n],
    symbol: pointShape(point),
    symbolSize: point.front ? 15 : 10,
    itemStyle: {
      color: point.oversubscribed ? colour("card") : pointColour(point),
      borderColor: pointColour(point),
      borderWidth: 2,
    },
  }));
  return {
    animation: false,
    grid: { left: 52, right: 24, top: 40, bottom: 46 },
    tooltip: tooltipStyle((params) =>
      points[params.dataIndex] ? pointTold(points[params.dataIndex]) : "",
    ),
    xAxis: axisStyle({
      type: "value",
      name: "draft slots per second",
      nameLocation: "middle",
      nameGap: 28,
      scale: true,
      axisLabel: { color: colour("ink"), hideOverlap: true, formatter: figure },
    }),
    yAxis: axisStyle({ type: "value", name: "trials failed, %", min: 0, max: 100 }),
    series: [
      {
        type: "custom",
        renderItem: whiskers(points),
        data: data.map((one) => one.value),
        silent: true,
        z: 1,
        clip: true,
      },
      {
        type: "custom",
        renderItem: frontLine(front),
        data: front.length > 1 ? [[front[0].speed[0], 0]] : [],
        silent: true,
        z: 2,
      },
      { type: "scatter", data, z: 3, cursor: "pointer" },
    ],
  };
}

function beginFront() {
  const element = $("front-chart");
  if (!element) return;
  const points = page.points.filter((point) => point.speed);
  if (!points.length) {
    element.hidden = true;
    return;
  }
  makeChart(
    element,
    () => frontOption(points),
    (chart) => {
      chart.on("click", (event) => {
        const point = event.seriesType === "scatter" ? points[event.dataIndex] : null;
        if (point) location.hash = `config-${cells[point.cells[0]].id}`;
      });
    },
  );
}
