"""The one corridor: Trials -> run -> conclude -> store -> document. Every door comes through here.

A door (a command, later the explorer and the pytest plugin) decides which trials there are;
nothing it does changes what is concluded from one. Trials that the store already holds for the
same environment are not run again.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from fxrace.core import expand, summarise
from fxrace.core.curve import Reference, curve_of, reference_from
from fxrace.core.detect import findings_in
from fxrace.core.evidence import Evidence
from fxrace.core.judge import judge
from fxrace.core.summarise import Judged
from fxrace.launch.executors.local import Ended, LocalExecutor, Started
from fxrace.launch.folder import prune
from fxrace.launch.record_file import read_trace
from fxrace.launch.stopping import Stopping
from fxrace.records.document import ReplayDocument, SweepDocument
from fxrace.records.environment import Environment
from fxrace.records.event import Trace
from fxrace.records.outcome import Ending, Outcome, Stop, Verdict
from fxrace.records.sweep import Sweep
from fxrace.records.trial import Trial
from fxrace.store import Store, StoredTrial

SWEEP_SCHEMA, REPLAY_SCHEMA, SCHEMA_VERSION = "fxrace.sweep", "fxrace.replay", 1


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
    trace: Trace
    ending: Ending


def run_sweep(
    sweep: Sweep, *, run: str, output: Path, store: Store, corridor: Corridor
) -> SweepDocument:
    """Run what is missing of the sweep, store each trial as it ends, and describe the whole.

    The references go first: without them nothing can be called clean.
    """
    references, trials = expand.references(sweep), expand.trials(sweep)
    known = store.known(corridor.environment.digest)
    everything = (*references, *trials)
    present = {t.digest: known[t.digest] for t in everything if t.digest in known}
    corridor.progress.planned(everything, {d: s.outcome for d, s in present.items()})
    for digest in present:
        store.link(run, digest, corridor.environment.digest)

    traces = {digest: stored.trace for digest, stored in present.items()}
    for done in conclude(_missing(references, present), None, corridor):
        _store(done, run, store, corridor)
        traces[done.judged.trial.digest] = done.trace
    reference = _reference([traces.get(trial.digest) for trial in references])
    if reference.problem:
        corridor.progress.note(f"nothing can be called clean: {reference.problem}")
    if not corridor.stopping.level:
        for done in conclude(_missing(trials, present), reference, corridor):
            _store(done, run, store, corridor)
    store.end_run(run, interrupted=bool(corridor.stopping.level))
    return document_of(store, run, output=output)


def conclude(
    trials: Sequence[Trial], reference: Reference | None, corridor: Corridor
) -> Iterator[Concluded]:
    """Run trials and say what each one means, in the order in which they end.

    Trials that were cut off by an interruption say nothing and are left out.
    """
    for moment in corridor.executor.run(trials, stopping=corridor.stopping):
        if isinstance(moment, Started):
            corridor.progress.started(moment.trial)
            continue
        if moment.ending.stop is Stop.INTERRUPTED:
            continue
        done = _concluded(moment, None if expand.is_reference(moment.trial) else reference)
        yield done
        corridor.progress.ended(moment.trial, done.judged.outcome)
        if done.judged.outcome.verdict is Verdict.CLEAN:
            prune(moment.directory)


def replay(
    stored: StoredTrial, *, repeats: int, output: Path, store: Store, corridor: Corridor
) -> ReplayDocument:
    """Run one stored trial again ``repeats`` times and count how often it came out the same."""
    reference = _stored_reference(stored.trial, store, corridor)
    runs: list[Judged] = []
    while len(runs) < repeats and not corridor.stopping.level:
        before = len(runs)
        runs.extend(done.judged for done in conclude((stored.trial,), reference, corridor))
        if len(runs) == before:
            break
    original = Judged(
        trial=stored.trial,
        outcome=stored.outcome,
        findings=stored.findings,
        stacks=stored.ending.stacks,
    )
    line = _replay_line(output)
    same = sum(1 for again in runs if _reproduces(again, original))
    return ReplayDocument(
        schema=REPLAY_SCHEMA,
        schema_version=SCHEMA_VERSION,
        environment=corridor.environment,
        trial=summarise.trial_rows((original,), line)[0],
        runs=summarise.trial_rows(runs, line),
        reproduced=summarise.wilson(same, len(runs)),
        interrupted=bool(corridor.stopping.level),
    )


def document_of(store: Store, run: str, *, output: Path, report: str | None = None) -> SweepDocument:
    """The document of a stored run; a pure view, so formats can be added later."""
    about, stored = store.run(run), store.trials_of(run)
    judged = [
        Judged(
            trial=one.trial, outcome=one.outcome, findings=one.findings, stacks=one.ending.stacks
        )
        for one in stored
    ]
    line = _replay_line(output)
    return SweepDocument(
        schema=SWEEP_SCHEMA,
        schema_version=SCHEMA_VERSION,
        run=run,
        environment=about.environment,
        settings=about.settings,
        axes=about.axes,
        trials=summarise.trial_rows(judged, line),
        cells=summarise.cell_rows(judged),
        findings=summarise.finding_rows(judged, line),
        blind=tuple(dict.fromkeys(pair for one in stored for pair in one.ending.blind)),
        interrupted=about.interrupted,
        report=report,
    )


def _concluded(moment: Ended, reference: Reference | None) -> Concluded:
    trace = read_trace(moment.directory / "events.jsonl")
    evidence = Evidence(
        trial=moment.trial, trace=trace, ending=moment.ending, reference=reference
    )
    findings = findings_in(evidence)
    judged = Judged(
        trial=moment.trial,
        outcome=judge(evidence, findings),
        findings=findings,
        stacks=moment.ending.stacks,
    )
    return Concluded(judged=judged, trace=trace, ending=moment.ending)


def _store(done: Concluded, run: str, store: Store, corridor: Corridor) -> None:
    store.append(
        run,
        corridor.environment.digest,
        trial=done.judged.trial,
        outcome=done.judged.outcome,
        findings=done.judged.findings,
        ending=done.ending,
        trace=done.trace,
    )


def _missing(
    trials: Sequence[Trial], present: Mapping[str, StoredTrial]
) -> tuple[Trial, ...]:
    return tuple(trial for trial in trials if trial.digest not in present)


def _reference(traces: Sequence[Trace | None]) -> Reference:
    curves = [curve_of(trace) if trace is not None else {} for trace in traces]
    return reference_from(*curves)


def _stored_reference(trial: Trial, store: Store, corridor: Corridor) -> Reference | None:
    """The reference of this trial's settings and seed, taken from the store or run again."""
    if expand.is_reference(trial):
        return None
    wanted = expand.references_of(trial)
    known = store.known(corridor.environment.digest)
    traces = {t.digest: known[t.digest].trace for t in wanted if t.digest in known}
    missing = tuple(t for t in wanted if t.digest not in traces)
    traces |= {d.judged.trial.digest: d.trace for d in conclude(missing, None, corridor)}
    return _reference([traces.get(t.digest) for t in wanted])


def _reproduces(again: Judged, original: Judged) -> bool:
    causes = {finding.fingerprint for finding in original.findings}
    found = {finding.fingerprint for finding in again.findings}
    same_verdict = again.outcome.verdict is original.outcome.verdict
    return same_verdict and (not causes or bool(causes & found))


def _replay_line(output: Path) -> summarise.ReplayLine:
    return lambda digest: f"fxrace replay {digest} --output {shlex.quote(str(output))}"
