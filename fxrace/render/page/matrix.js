// The matrix of an exploration: hide what does not interest, put the worst first.

const matrixRows = () => [...$("matrix-table").tBodies[0].rows];

function isFinding(cell) {
  return cell.classList.contains("m-finding");
}

/** Column numbers are places among the cells of a row; 0 is the row's own name. */
function drawMatrix() {
  const words = wordsOf($("matrix-filter"));
  const only = $("matrix-only").checked;
  const rows = matrixRows();
  const heads = [...$("matrix-table").tHead.rows[0].cells];
  const wanted = (name) => matches(name.textContent.toLowerCase(), words);
  const rowNamed = rows.some((row) => wanted(row.cells[0]));
  let shownRows = 0;
  for (const row of rows) {
    const hit = [...row.cells].some(isFinding);
    row.hidden = (rowNamed && !wanted(row.cells[0])) || (only && !hit);
    shownRows += !row.hidden;
  }
  // A word that names no row but a column narrows the columns instead.
  const columnNamed = !rowNamed && heads.slice(1).some(wanted);
  let shownColumns = 0;
  heads.forEach((head, column) => {
    if (!column) return;
    const hit = rows.some((row) => !row.hidden && isFinding(row.cells[column]));
    const hidden = (columnNamed && !wanted(head)) || (only && !hit);
    head.hidden = hidden;
    for (const row of rows) row.cells[column].hidden = hidden;
    shownColumns += !hidden;
  });
  const none = words.length && !rowNamed && !columnNamed ? "nothing has this name; " : "";
  $("matrix-count").textContent = `${none}${shownRows} × ${shownColumns}`;
}

function orderMatrix() {
  const rows = matrixRows();
  const causes = (row) => [...row.cells].filter(isFinding).length;
  const orders = {
    "": (a, b) => a.dataset.place - b.dataset.place,
    causes: (a, b) => causes(b) - causes(a) || a.dataset.place - b.dataset.place,
    name: (a, b) => a.cells[0].textContent.localeCompare(b.cells[0].textContent),
  };
  $("matrix-table").tBodies[0].append(...rows.sort(orders[$("matrix-order").value]));
}

/** Arrow keys walk over the cells that are shown. */
function walkMatrix(event) {
  const cell = event.target.closest("td");
  if (!cell || !event.key.startsWith("Arrow")) return;
  const row = cell.parentElement;
  const rows = matrixRows().filter((one) => !one.hidden);
  const columns = [...row.cells].filter((one) => !one.hidden).map((one) => one.cellIndex);
  const [down, right] = {
    ArrowUp: [-1, 0],
    ArrowDown: [1, 0],
    ArrowLeft: [0, -1],
    ArrowRight: [0, 1],
  }[event.key];
  const next =
    rows[rows.indexOf(row) + down]?.cells[columns[columns.indexOf(cell.cellIndex) + right]];
  const link = next?.querySelector("a");
  if (!link) return;
  event.preventDefault();
  link.focus();
}

function beginMatrix() {
  if (!$("matrix-filter")) return;
  matrixRows().forEach((row, place) => (row.dataset.place = place));
  $("matrix-filter").addEventListener("input", drawMatrix);
  $("matrix-only").addEventListener("change", drawMatrix);
  $("matrix-order").addEventListener("change", orderMatrix);
  $("matrix-table").addEventListener("keydown", walkMatrix);
}

function arrive() {
  const target = named();
  if (target) reveal(target);
  else announce("nothing on this page has that name");
}

begin();
beginTables();
beginMatrix();
addEventListener("hashchange", arrive);
arriveFirst(arrive);
document.documentElement.dataset.ready = String(Math.round(performance.now()));
