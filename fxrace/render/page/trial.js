// One trial: its figures, what it found, how to run it again, its timeline.

function findingLinks(trial) {
  if (!trial.findings.length) return null;
  const items = trial.findings.map((number) => {
    const finding = page.findings[number];
    const name = `${finding.tier} ${finding.title}`;
    return el("li", {}, finding.anchor ? el("a", { href: `#${finding.anchor}` }, name) : name);
  });
  return el("div", {}, el("h4", {}, "findings"), el("ul", { class: "plain" }, ...items));
}

function facts(trial) {
  const cell = trial.cell < 0 ? null : cells[trial.cell];
  const told = [
    `repeat ${trial.repeat}`,
    `took ${seconds(trial.duration)}`,
    trial.speed === null ? null : `${figure(trial.speed)} slots/s`,
    counted(trial.compiles, "compile"),
    trial.memory === null ? null : `peak memory ${size(trial.memory)}`,
  ].filter(Boolean);
  const place = cell ? el("a", { href: `#cell-${cell.id}` }, "all trials of this cell") : null;
  const hung = page.hung.includes(trial.digest)
    ? el("a", { href: `#hung-${trial.digest}` }, "where its threads stood")
    : null;
  return el("p", { class: "facts" }, ...told.map((text) => el("span", {}, text)), place, hung);
}

function recordOf(trial) {
  const record = page.timelines[trial.digest];
  if (record && record.lanes.length)
    return el("div", {}, el("h4", {}, "timeline"), timelineOf(record));
  const why = trial.verdict.failed
    ? "Its record is not on this page; it lies in the output folder, under trials/."
    : "The record of a trial that did not fail is not kept.";
  return el("p", { class: "small soft" }, `No timeline. ${why}`);
}

function openTrial(trial) {
  const title = el(
    "h3",
    { tabindex: "-1", id: "trial-title" },
    mark(trial.verdict),
    ` ${trial.verdict.name}, trial `,
    el("span", { class: "mono" }, trial.digest),
  );
  const shut = el("button", { type: "button", onclick: closeTrial }, "close");
  const note = trial.note ? el("p", { class: "small soft" }, trial.note) : null;
  $("trial-panel").replaceChildren(
    el(
      "article",
      { class: "card", "aria-labelledby": "trial-title" },
      title,
      el("p", {}, trialName(trial)),
      facts(trial),
      trial.symptom ? el("p", { class: "mono" }, trial.symptom) : null,
      note,
      el("h4", {}, "run it again"),
      commandLine("trial-replay", trial.replay, "the replay command"),
      findingLinks(trial),
      recordOf(trial),
      el("p", {}, shut),
    ),
  );
  title.focus({ preventScroll: true });
  $("trial-panel").scrollIntoView({ block: "start" });
}

function closeTrial() {
  $("trial-panel").replaceChildren();
  history.replaceState(null, "", "#trials");
  $("h-trials").focus();
}
