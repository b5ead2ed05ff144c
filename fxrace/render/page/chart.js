// One chart of the library: made when it comes into view, drawn again when light and dark change.

/** Draws option() into the element; gives back a handle once there is a chart. */
function makeChart(element, option, made) {
  let chart = null;
  const draw = () => {
    if (chart && element.isConnected)
      chart.setOption(option(), { notMerge: false, lazyUpdate: false });
  };
  const start = () => {
    chart = echarts.init(element, null, { renderer: "canvas" });
    draw();
    new ResizeObserver(() => chart.resize()).observe(element);
    onTheme(draw);
    if (made) made(chart);
  };
  if (!("IntersectionObserver" in window)) {
    start();
    return;
  }
  const watcher = new IntersectionObserver(
    (entries) => {
      if (entries.some((entry) => entry.isIntersecting)) {
        watcher.disconnect();
        start();
      }
    },
    { rootMargin: "400px" },
  );
  watcher.observe(element);
}

const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';

function axisStyle(more) {
  return {
    axisLine: { lineStyle: { color: colour("soft") } },
    axisLabel: { color: colour("ink"), fontFamily: FONT, hideOverlap: true },
    splitLine: { lineStyle: { color: colour("line") } },
    nameTextStyle: { color: colour("soft"), fontFamily: FONT },
    ...more,
  };
}

/** A tooltip drawn on the canvas: no markup, so no text can become any. */
function tooltipStyle(formatter) {
  return {
    renderMode: "richText",
    confine: true,
    backgroundColor: colour("card"),
    borderColor: colour("line"),
    textStyle: { color: colour("ink"), fontFamily: FONT, fontSize: 12 },
    formatter,
  };
}
