// The heat map: any two axes across and down, the rest as tabs or side by side. Tables, not a
// picture, so that it can be read aloud, searched, printed and walked with the keyboard.

const EACH = "each";
const MOST_PANELS = 24;
const map = { rows: page.rows, columns: page.columns, rest: {} };

function restAxes() {
  return page.varied.filter((axis) => axis !== map.rows && axis !== map.columns);
}

/** Side by side as long as there are few tables, else the first value of the last axes. */
function settleRest() {
  const rest = {};
  let panels = 1;
  for (const axis of restAxes()) {
    const number = page.axes[axis].length;
    const kept = map.rest[axis];
    if (kept !== undefined) rest[axis] = kept;
    else rest[axis] = panels * number <= 8 ? EACH : 0;
    if (rest[axis] === EACH) panels *= number;
  }
  map.rest = rest;
}

function axisSelect(label, which) {
  const options = axes
    .filter((axis) => page.varied.includes(axis) || axis === map[which])
    .map((axis) => el("option", { value: axis, selected: axis === map[which] }, axis));
  const select = el("select", { id: `map-${which}` }, ...options);
  select.addEventListener("change", () => {
    const other = which === "rows" ? "columns" : "rows";
    if (map[other] === select.value) map[other] = map[which];
    map[which] = select.value;
    map.rest = {};
    drawMap();
    $(select.id).focus();
  });
  return el("label", {}, `${label} `, select);
}

function tabs(axis) {
  const choices = [[EACH, "each"], ...page.axes[axis].map((value, number) => [number, value])];
  const made = choices.map(([value, text]) => {
    const input = el("input", {
      type: "radio",
      name: `map-${axis}`,
      checked: map.rest[axis] === value,
      onchange: () => {
        map.rest[axis] = value;
        drawPanels();
      },
    });
    return el("label", { class: "choice-chip" }, input, text);
  });
  return el("fieldset", {}, el("legend", {}, axis), ...made);
}

function strip(cell) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const total = cell.verdicts.reduce((sum, [, count]) => sum + count, 0);
  for (const [name, value] of Object.entries({
    class: "strip",
    viewBox: "0 0 100 4",
    preserveAspectRatio: "none",
    "aria-hidden": "true",
  }))
    svg.setAttribute(name, value);
  let left = 0;
  for (const [verdict, count] of [...cell.verdicts].sort((a, b) => b[0] - a[0])) {
    const rect = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    const width = (100 * count) / total;
    rect.setAttribute("class", `f-${page.verdicts[verdict].name.toLowerCase()}`);
    rect.setAttribute("x", left);
    rect.setAttribute("width", width);
    rect.setAttribute("height", 4);
    svg.append(rect);
    left += width;
  }
  return svg;
}

function cellBox(cell) {
  const worst = gravest(cell);
  const style = worst ? worst.name.toLowerCase() : "none";
  const said = cell.n ? `${cell.k} of ${cell.n}` : worst ? worst.name : "not run";
  const lines = [el("span", { class: "say" }, mark(worst), " ", el("b", {}, said))];
  if (cell.n) lines.push(el("span", { class: "say dim" }, `fail ${interval(cell.low, cell.high)}`));
  if (cell.speed) {
    const [median, low, high] = cell.speed.map(figure);
    lines.push(el("span", { class: "say dim" }, `${median} slots/s`));
    if (low !== high) lines.push(el("span", { class: "say dim" }, `${low}–${high}`));
  }
  const link = el("a", { href: `#cell-${cell.id}`, "data-cell": cell.number }, ...lines);
  return el("td", { class: `cell v-${style}` }, link, strip(cell));
}

function panel(title, members) {
  const places = new Map();
  for (const cell of members) {
    const place = `${knob(cell, map.rows)}\n${map.columns ? knob(cell, map.columns) : ""}`;
    if (!places.has(place)) places.set(place, cell);
  }
  const columns = map.columns ? page.axes[map.columns] : [""];
  const heads = columns.map((name) => el("th", { scope: "col" }, ...breaking(name || "all")));
  const body = page.axes[map.rows].map((row) => {
    const boxes = columns.map((column) => {
      const cell = places.get(`${row}\n${column}`);
      return cell ? cellBox(cell) : el("td", { class: "soft" }, "not run");
    });
    return el("tr", {}, el("th", { scope: "row" }, ...breaking(row)), ...boxes);
  });
  const corner = el("th", { scope: "col" }, map.rows);
  const table = el(
    "table",
    { "aria-label": title || "all cells" },
    el("thead", {}, el("tr", {}, corner, ...heads)),
    el("tbody", {}, ...body),
  );
  const wide = el(
    "div",
    { class: "scroll", tabindex: "0", role: "group", "aria-label": title || "all cells" },
    table,
  );
  return el(
    "div",
    { class: columns.length > 4 ? "panel broad" : "panel" },
    el("h3", {}, title || "all cells"),
    wide,
  );
}

/** One table per combination of the axes that stand side by side. */
function drawPanels() {
  const side = restAxes().filter((axis) => map.rest[axis] === EACH);
  const fixed = restAxes().filter((axis) => map.rest[axis] !== EACH);
  const groups = new Map();
  for (const cell of cells) {
    const fits = fixed.every((axis) => cell.knobs[axes.indexOf(axis)] === map.rest[axis]);
    if (!fits) continue;
    const title = side.map((axis) => `${axis} ${knob(cell, axis)}`).join(", ");
    if (!groups.has(title)) groups.set(title, []);
    groups.get(title).push(cell);
  }
  const shown = [...groups].slice(0, MOST_PANELS).map(([title, members]) => panel(title, members));
  const more = groups.size - shown.length;
  if (more > 0) shown.push(el("p", {}, `${counted(more, "more table")}: choose a value above`));
  $("map-panels").replaceChildren(...shown);
  markCell();
}

function drawMap() {
  settleRest();
  const picks =
    page.varied.length > 1 ? [axisSelect("rows", "rows"), axisSelect("columns", "columns")] : [];
  $("map-controls").replaceChildren(...picks, ...restAxes().map(tabs));
  drawPanels();
}

/** Shows which cell the list of trials is about. */
function markCell() {
  const current = named() ? null : location.hash.slice("#cell-".length);
  for (const link of document.querySelectorAll("#map-panels a")) {
    if (cells[link.dataset.cell].id === current) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
}
