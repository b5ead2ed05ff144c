// Fragments: every cell, configuration, trial, finding and hazard has a place one can link to.

function cellBy(id) {
  return cells.find((cell) => cell.id === id);
}

/** What a fragment that scripts answer leads to: prefix, and what to do with the rest. */
const ROUTES = {
  "cell-": (id) => {
    const cell = cellBy(id);
    if (!cell) return false;
    scopeTrials(cellName(cell), [cell.number]);
    reveal($("trials"));
    announce(`${$("trial-count").textContent} of ${cellName(cell)}`);
    return true;
  },
  "config-": (id) => {
    const point = page.points.find((one) => one.cells.some((number) => cells[number].id === id));
    if (!point) return false;
    scopeTrials(pointName(point), point.cells);
    reveal($("trials"));
    return true;
  },
  "trials-of-": (anchor) => {
    const number = page.findings.findIndex((finding) => finding.anchor === anchor);
    if (number < 0) return false;
    list.scope = null;
    list.finding = number;
    drawTrials();
    reveal($("trials"));
    return true;
  },
  "trial-": (digest) => {
    const trial = trials.find((one) => one.digest === digest);
    if (trial) openTrial(trial);
    return Boolean(trial);
  },
};

function arrive() {
  const id = decodeURIComponent(location.hash.slice(1));
  const target = named();
  markCell();
  if (target) {
    reveal(target);
    return;
  }
  const route = Object.keys(ROUTES).find((prefix) => id.startsWith(prefix));
  const found = route && ROUTES[route](id.slice(route.length));
  if (id && !found) announce(`nothing on this page is called ${id}`);
}

begin();
beginTables();
if (cells.length) drawMap();
if (trials.length) beginTrials();
beginFront();
addEventListener("hashchange", arrive);
arriveFirst(arrive);
document.documentElement.dataset.ready = String(Math.round(performance.now()));
