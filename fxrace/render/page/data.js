// The data of the page, as objects. What the arrays hold is in the schema: fxrace schema page.

const page = JSON.parse($("page-data").textContent);
const axes = Object.keys(page.axes);
const chosenAxes = page.varied.filter((axis) => axis !== page.condition);

const cells = page.cells.map(([id, knobs, verdicts, k, n, low, high, speed], number) => ({
  id,
  knobs,
  verdicts,
  k,
  n,
  low,
  high,
  speed,
  number,
}));

const trials = page.trials.map((line, number) => ({
  number,
  digest: line[0],
  cell: line[1],
  verdict: page.verdicts[line[2]],
  gravity: line[2],
  repeat: line[3],
  duration: line[4],
  speed: line[5],
  compiles: line[6],
  memory: line[7],
  symptom: page.texts[line[8]] ?? "",
  note: page.texts[line[9]] ?? "",
  replay: (page.texts[line[10]] ?? "").replace("%DIGEST%", line[0]),
  findings: line[11],
}));

/** A knob of a cell in words; a dash where the cell has none. */
function knob(cell, axis) {
  return page.axes[axis][cell.knobs[axes.indexOf(axis)]] ?? "–";
}

/** A combination by what sets it apart. */
function cellName(cell, names = page.varied) {
  return names.map((axis) => `${axis}=${knob(cell, axis)}`).join(", ") || "the one configuration";
}

/** The gravest verdict of a cell, or null when nothing ran in it. */
function gravest(cell) {
  const first = Math.min(...cell.verdicts.map(([verdict]) => verdict));
  return Number.isFinite(first) ? page.verdicts[first] : null;
}

function mark(verdict) {
  const name = verdict ? verdict.name : "not run";
  const style = verdict ? verdict.name.toLowerCase() : "none";
  return el("span", { class: `mark v-${style}`, title: name }, verdict ? verdict.letter : ".");
}

/** A place where words may break: after an underscore. */
function breaking(text) {
  const parts = text.split("_").flatMap((part, place) => (place ? ["_", el("wbr"), part] : [part]));
  return parts;
}
