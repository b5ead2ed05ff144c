// The list of trials: of one cell or all, by verdict, by words, in any order, a hundred at a time.

const AT_ONCE = 100;
const list = {
  scope: null, // {label, cells: Set} or null for all
  finding: null, // number of a finding, or null
  verdicts: new Set(page.verdicts.map((verdict) => verdict.name)),
  words: [],
  column: "gravity",
  direction: 1,
  shown: AT_ONCE,
};

/** Where a trial is found by words; made once, when the first word is typed. */
const haystack = [];

function textOf(trial) {
  haystack[trial.number] ??= [
    trial.digest,
    trial.symptom,
    trial.note,
    trialName(trial),
    ...trial.findings.map((f) => `${page.findings[f].fingerprint} ${page.findings[f].title}`),
  ]
    .join(" ")
    .toLowerCase();
  return haystack[trial.number];
}

function trialName(trial) {
  return trial.cell < 0 ? "single-threaded reference" : cellName(cells[trial.cell]);
}

function knobOf(trial, axis) {
  return trial.cell < 0 ? "reference" : knob(cells[trial.cell], axis);
}

function wantedTrials() {
  return trials.filter(
    (trial) =>
      (!list.scope || list.scope.cells.has(trial.cell)) &&
      (list.finding === null || trial.findings.includes(list.finding)) &&
      list.verdicts.has(trial.verdict.name) &&
      (!list.words.length || matches(textOf(trial), list.words)),
  );
}

const COLUMNS = [
  ["gravity", "verdict", ""],
  ["digest", "trial", ""],
  ...page.varied.map((axis) => [`axis ${axis}`, axis, ""]),
  ["repeat", "repeat", "number"],
  ["duration", "took", "number"],
  ["speed", "slots/s", "number"],
  ["symptom", "message", ""],
];

function sortedTrials(found) {
  const axis = list.column.startsWith("axis ") ? list.column.slice(5) : null;
  const key = axis ? (trial) => knobOf(trial, axis) : (trial) => trial[list.column];
  const keyed = found.map((trial) => [key(trial), trial]);
  const blank = (value) => value === null || value === "";
  keyed.sort((a, b) => {
    if (blank(a[0]) || blank(b[0])) return blank(a[0]) - blank(b[0]);
    return list.direction * compareKeys(a[0], b[0]) || a[1].number - b[1].number;
  });
  return keyed.map(([, trial]) => trial);
}

function trialRow(trial) {
  const number = (text) => el("td", { class: "number" }, text);
  const link = el("a", { href: `#trial-${trial.digest}`, class: "mono" }, trial.digest);
  return el(
    "tr",
    {},
    el("td", {}, mark(trial.verdict), ` ${trial.verdict.name}`),
    el("td", {}, link),
    ...page.varied.map((axis) => el("td", {}, knobOf(trial, axis))),
    number(String(trial.repeat)),
    number(seconds(trial.duration)),
    number(trial.speed === null ? "–" : figure(trial.speed)),
    el("td", { class: "message" }, trial.symptom || trial.note),
  );
}

function drawTrials() {
  const found = sortedTrials(wantedTrials());
  const heads = COLUMNS.map(([key, text, style]) => {
    const sorted = key === list.column ? (list.direction > 0 ? "ascending" : "descending") : null;
    const button = el(
      "button",
      {
        type: "button",
        class: "sort",
        onclick: () => {
          list.direction = list.column === key ? -list.direction : 1;
          list.column = key;
          drawTrials();
          $("trial-table").querySelector(`[data-column="${key}"] button`).focus();
        },
      },
      text,
    );
    return el(
      "th",
      { scope: "col", class: style || null, "aria-sort": sorted, "data-column": key },
      button,
    );
  });
  $("trial-table").replaceChildren(
    el("thead", {}, el("tr", {}, ...heads)),
    el("tbody", {}, ...found.slice(0, list.shown).map(trialRow)),
  );
  $("trial-count").textContent =
    `${found.length.toLocaleString("en")} of ${counted(trials.length, "trial")}`;
  const left = found.length - list.shown;
  const more = el(
    "button",
    { type: "button", onclick: () => moreTrials() },
    `show ${Math.min(left, 400)} more`,
  );
  $("trial-more").replaceChildren(...(left > 0 ? [more] : []));
  drawScope();
}

function moreTrials() {
  list.shown += 400;
  drawTrials();
}

function drawScope() {
  const chips = [];
  if (list.scope) chips.push([list.scope.label, () => (list.scope = null)]);
  if (list.finding !== null)
    chips.push([page.findings[list.finding].title, () => (list.finding = null)]);
  $("trial-scope").replaceChildren(
    ...chips.map(([label, clear]) => {
      const drop = () => {
        clear();
        drawTrials();
        $("trial-search").focus();
      };
      const button = el(
        "button",
        { type: "button", "aria-label": `no longer only ${label}`, onclick: drop },
        "×",
      );
      return el("span", { class: "chip" }, `only ${label}`, button);
    }),
  );
}

/** Shows the trials of some cells. */
function scopeTrials(label, numbers) {
  list.scope = { label, cells: new Set(numbers) };
  list.finding = null;
  list.words = [];
  $("trial-search").value = "";
  list.shown = AT_ONCE;
  drawTrials();
}

function verdictBoxes() {
  const seen = page.verdicts.filter((verdict) => trials.some((trial) => trial.verdict === verdict));
  const boxes = seen.map((verdict) => {
    const input = el("input", {
      type: "checkbox",
      checked: true,
      value: verdict.name,
      onchange: () => {
        if (input.checked) list.verdicts.add(verdict.name);
        else list.verdicts.delete(verdict.name);
        drawTrials();
      },
    });
    return el("label", { class: "choice-chip" }, input, mark(verdict), " ", verdict.name);
  });
  return el("fieldset", {}, el("legend", {}, "verdict"), ...boxes);
}

function beginTrials() {
  const search = el("input", { type: "search", id: "trial-search" });
  search.addEventListener("input", () => {
    list.words = wordsOf(search);
    list.shown = AT_ONCE;
    drawTrials();
  });
  $("trial-filter").append(
    el("label", {}, "filter ", search),
    verdictBoxes(),
    el("output", { id: "trial-count", for: "trial-search" }),
    el("span", { id: "trial-scope" }),
  );
  drawTrials();
}
