// Tables that came with the page: sort by a click on a heading, filter by words.

/** What a cell is sorted by: its data-value, else its number, else its text. */
function sortKey(cell) {
  const text = cell.dataset.value ?? cell.textContent.trim();
  const number = Number(text);
  return text !== "" && !Number.isNaN(number) ? number : text.toLowerCase();
}

function compareKeys(a, b) {
  if (typeof a === typeof b) return a < b ? -1 : a > b ? 1 : 0;
  return typeof a === "number" ? -1 : 1;
}

/** Puts the headings' buttons and aria-sort in order; sorted is told the column and direction. */
function sortableHead(row, sorted) {
  const heads = [...row.cells];
  heads.forEach((head, column) => {
    const button = el("button", { type: "button", class: "sort" }, ...head.childNodes);
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      sorted(column, up ? 1 : -1);
    });
  });
}

function makeSortable(table) {
  const body = table.tBodies[0];
  sortableHead(table.tHead.rows[0], (column, direction) => {
    const keyed = [...body.rows].map((row) => [sortKey(row.cells[column]), row]);
    keyed.sort((a, b) => direction * compareKeys(a[0], b[0]));
    body.append(...keyed.map(([, row]) => row));
  });
}

/** Every word has to be somewhere in a row. */
function matches(text, words) {
  return words.every((word) => text.includes(word));
}

function wordsOf(input) {
  return input.value.toLowerCase().split(/\s+/).filter(Boolean);
}

function makeFilter(input) {
  const table = $(input.dataset.filters);
  const counter = document.querySelector(`[data-counts="${input.dataset.filters}"]`);
  input.addEventListener("input", () => {
    const words = wordsOf(input);
    let shown = 0;
    for (const row of table.tBodies[0].rows) {
      row.hidden = !matches(row.textContent.toLowerCase(), words);
      shown += !row.hidden;
    }
    counter.textContent = `${shown} of ${table.tBodies[0].rows.length}`;
  });
}

function beginTables() {
  for (const table of document.querySelectorAll("table.sortable")) makeSortable(table);
  for (const input of document.querySelectorAll("input[data-filters]")) makeFilter(input);
}
