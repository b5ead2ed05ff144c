"""The one corridor: Trials -> run -> conclude -> store -> document. Every door comes through here.

A door (a command, later the explorer and the pytest plugin) decides which trials there are;
nothing it does changes what is concluded from one. Trials that the store already holds for the
same environment are not run again.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from fxrace.catalog.hazards import read_hazards, script_of
from fxrace.core import curve, expand, program, summarise
from fxrace.core.attribute import attributed
from fxrace.core.curve import Curve, Reference, curve_of
from fxrace.core.detect import findings_in
from fxrace.core.evidence import Evidence
from fxrace.core.interval import wilson
from fxrace.core.judge import judge
from fxrace.core.references import References
from fxrace.core.summarise import Judged
from fxrace.errors import CodeChanged
from fxrace.launch import bundled
from fxrace.launch.executors.local import LocalExecutor
from fxrace.launch.folder import prune
from fxrace.launch.program import Program
from fxrace.launch.program import run as run_once
from fxrace.launch.progress import Ended, Started
from fxrace.launch.record_file import EVENTS, read_trace, read_traces
from fxrace.launch.stopping import Level, Stopping
from fxrace.records.document import FindingRow, ReplayDocument, RunDocument, SweepDocument
from fxrace.records.environment import Environment
from fxrace.records.hazard import Hazard
from fxrace.records.outcome import Ending, Outcome, Stop
from fxrace.records.sweep import Sweep
from fxrace.records.trial import Trial
from fxrace.records.verdict import Verdict
from fxrace.store import Run, Store, StoredTrial

Of = Callable[[Trial], Reference | None]
SWEEP_SCHEMA, REPLAY_SCHEMA, RUN_SCHEMA = "fxrace.sweep", "fxrace.replay", "fxrace.run"
SCHEMA_VERSION = 1


class Progress(Protocol):
    """Told what happens, on the main thread. ``known`` is digest -> stored outcome."""

    def planned(self, trials: Sequence[Trial], known: Mapping[str, Outcome]) -> None: ...

    def started(self, trial: Trial) -> None: ...

    def ended(self, trial: Trial, outcome: Outcome) -> None: ...

    def note(self, text: str) -> None: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Corridor:
    """What running trials needs, whichever door they came through."""

    executor: LocalExecutor
    environment: Environment
    progress: Progress
    stopping: Stopping


@dataclass(frozen=True, kw_only=True, slots=True)
class Concluded:
    """A trial that was run just now, with its record."""

    judged: Judged
    ending: Ending
    curve: Curve
    directory: Path | None
    told: tuple[str, ...] = ()


def run_sweep(
    sweep: Sweep, *, command: Sequence[str], output: Path, store: Store, corridor: Corridor
) -> SweepDocument:
    """Run what is missing, references first, store each trial as it ends, describe the whole."""
    references, trials = expand.references(sweep), expand.trials(sweep)
    known = store.known(corridor.environment.digest)
    present = {t.digest: known[t.digest] for t in (*references, *trials) if t.digest in known}
    corridor.progress.planned(
        (*references, *trials), {digest: stored.outcome for digest, stored in present.items()}
    )
    run = store.begin_run(
        environment=corridor.environment,
        command=command,
        settings=sweep.settings,
        axes=sweep.axes,
    )
    for stored in present.values():
        store.link(run, stored)

    curves = {digest: curve.from_plain(stored.payload) for digest, stored in present.items()}
    missing = _missing(references, present)
    # The first by itself: it prepares what all trials share, such as a trained target.
    for group in (missing[:1], missing[1:]):
        for done in conclude(group, None, corridor):
            store.append(run, **_row(done))
            curves[done.judged.trial.digest] = done.curve
            for text in done.told if done.judged.trial == references[0] else ():
                corridor.progress.note(text)
    of = References(curves)
    for problem in of.problems(trials) if corridor.stopping.level is Level.RUN else ():
        corridor.progress.note(f"nothing of its kind can be called clean: {problem}")
    for done in conclude(_missing(trials, present), of, corridor):
        store.append(run, **_row(done))
    if corridor.stopping.level is Level.RUN:
        store.end_run(run)
    return document_of(store, store.run(run.number), output=output)


def conclude(
    trials: Sequence[Trial], reference: Of | None, corridor: Corridor
) -> Iterator[Concluded]:
    """Run trials and say what each one means, in the order in which they end.

    Trials that were cut off by an interruption say nothing and are left out. The folder of a
    clean trial is removed once the caller has taken it. Raises CodeChanged.
    """
    for moment in corridor.executor.run(trials, stopping=corridor.stopping):
        if isinstance(moment, Started):
            corridor.progress.started(moment.trial)
        elif moment.ending.stop is not Stop.INTERRUPTED:
            of = None if expand.is_reference(moment.trial) else reference
            done = _concluded(moment, of and of(moment.trial))
            if corridor.executor.sources() != corridor.environment.sources:
                raise CodeChanged(
                    "the code that takes part in trials was edited while they ran",
                    remedy="run the command again; what was stored before the edit is kept",
                )
            yield done
            corridor.progress.ended(moment.trial, done.judged.outcome)
            if done.directory is None:
                prune(moment.directory)


def replay(
    stored: StoredTrial, *, repeats: int, output: Path, store: Store, corridor: Corridor
) -> ReplayDocument:
    """Run one stored trial again ``repeats`` times and count how often it came out the same."""
    reference = _stored_reference(stored.trial, store, corridor)
    corridor.progress.planned((stored.trial,) * repeats, {})
    runs: list[Judged] = []
    while len(runs) < repeats and corridor.stopping.level is Level.RUN:
        before = len(runs)
        runs.extend(d.judged for d in conclude((stored.trial,), lambda _: reference, corridor))
        if len(runs) == before:
            break
    original = _judged(stored)
    line = _replay_line(output)
    same = sum(1 for again in runs if _reproduces(again, original))
    return ReplayDocument(
        schema=REPLAY_SCHEMA,
        schema_version=SCHEMA_VERSION,
        environment=corridor.environment,
        trial=summarise.trial_rows((original,), line)[0],
        runs=summarise.trial_rows(runs, line),
        reproduced=wilson(same, len(runs)),
        interrupted=corridor.stopping.level is not Level.RUN,
    )


def run_program(
    target: Program, *, python: Path, folder: Path, pressure: str, repeats: int,
    limit_s: float | None,
) -> RunDocument:  # fmt: skip
    """Run somebody's program ``repeats`` times with the hooks on, and say what raced.

    Stops early at Ctrl-C or at the time limit. Each run's record is in a folder of its own.
    """
    runs: list[program.Ran] = []
    while len(runs) < repeats and not (runs and runs[-1].cut_short):
        directory = folder / str(len(runs) + 1)
        directory.mkdir()
        ending = run_once(
            target, python=python, directory=directory, pressure=pressure, seed=len(runs),
            limit_s=limit_s,
        )  # fmt: skip
        runs.append(program.Ran(ending=ending, traces=read_traces(directory)))
    document = program.document_of(
        runs, schema=(RUN_SCHEMA, SCHEMA_VERSION), command=target.told, record=str(folder),
        pressure=pressure,
    )  # fmt: skip
    return replace(document, findings=attribute_rows(document.findings))


@cache
def hazards() -> tuple[Hazard, ...]:
    """Every usable hazard of the catalogue; it does not change while fxrace runs."""
    return read_hazards(bundled.root()).hazards


def document_of(store: Store, run: Run, *, output: Path) -> SweepDocument:
    """The document of a stored run; a pure view, so formats can be added later.

    Trials come in the order of the plan, however they ended.
    """
    stored = store.trials_of(run)
    judged = sorted(map(_judged, stored), key=lambda one: summarise.place_in(run.axes, one.trial))
    line = _replay_line(output)
    return SweepDocument(
        schema=SWEEP_SCHEMA,
        schema_version=SCHEMA_VERSION,
        run=str(run.number),
        environment=run.environment,
        settings=run.settings,
        axes=run.axes,
        trials=summarise.trial_rows(judged, line),
        cells=summarise.cell_rows(judged),
        findings=attribute_rows(summarise.finding_rows(judged, line)),
        blind=tuple(dict.fromkeys(pair for one in stored for pair in one.ending.blind)),
        interrupted=run.ended is None,
        report=None,
    )


def attribute_rows(rows: Sequence[FindingRow]) -> tuple[FindingRow, ...]:
    """Rows with the name, the remedy and the script of the hazard that each is of."""
    return tuple(
        replace(row, repro=str(script_of(bundled.root(), row.hazard)) if row.hazard else None)
        for row in attributed(rows, hazards())
    )


def _concluded(moment: Ended, reference: Reference | None) -> Concluded:
    trace = read_trace(moment.directory / EVENTS)
    evidence = Evidence(trial=moment.trial, trace=trace, ending=moment.ending, reference=reference)
    findings = attributed(findings_in(evidence), hazards())
    outcome = judge(evidence, findings)
    clean = outcome.verdict is Verdict.CLEAN
    return Concluded(
        judged=Judged(
            trial=moment.trial, outcome=outcome, findings=findings, stacks=moment.ending.stacks
        ),
        ending=moment.ending,
        curve=curve_of(trace),
        told=tuple(str(event.data["text"]) for event in trace.of("balance")),
        directory=None if clean else moment.directory,
    )


def _row(done: Concluded) -> dict[str, Any]:
    """What the store keeps of a trial: everything but the raw record, which stays on disk."""
    return {
        "trial": done.judged.trial,
        "outcome": done.judged.outcome,
        "findings": done.judged.findings,
        "ending": done.ending,
        "payload": curve.to_plain(done.curve),
        "directory": done.directory,
    }


def _judged(stored: StoredTrial) -> Judged:
    return Judged(
        trial=stored.trial,
        outcome=stored.outcome,
        findings=stored.findings,
        stacks=stored.ending.stacks,
    )


def _missing(trials: Sequence[Trial], present: Mapping[str, StoredTrial]) -> tuple[Trial, ...]:
    return tuple(trial for trial in trials if trial.digest not in present)


def _stored_reference(trial: Trial, store: Store, corridor: Corridor) -> Reference | None:
    """The reference of this trial's settings and seed, taken from the store or run again."""
    if expand.is_reference(trial):
        return None
    wanted = expand.references_of(trial)
    known = store.known(corridor.environment.digest)
    curves = {
        one.digest: curve.from_plain(known[one.digest].payload)
        for one in wanted
        if one.digest in known
    }
    missing = tuple(one for one in wanted if one.digest not in curves)
    curves |= {d.judged.trial.digest: d.curve for d in conclude(missing, None, corridor)}
    return References(curves)(trial)


def _reproduces(again: Judged, original: Judged) -> bool:
    causes = {finding.fingerprint for finding in original.findings if finding.tier.proven}
    found = {finding.fingerprint for finding in again.findings}
    same_verdict = again.outcome.verdict is original.outcome.verdict
    return same_verdict and (not causes or bool(causes & found))


def _replay_line(output: Path) -> summarise.ReplayLine:
    return lambda digest: f"fxrace replay {digest} --output {shlex.quote(str(output))}"
