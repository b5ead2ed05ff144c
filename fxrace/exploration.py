"""The corridor of ``explore``: pairs -> trials -> run -> store -> document.

Several pairs with one A share a trial, because they share what A gives alone; what is stored and
counted is still the pair. A pair that the store holds for this environment and these settings is
not explored again, so a killed exploration loses at most the trials that ran.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fxrace.core import exploration as core
from fxrace.core.causes import merged
from fxrace.core.exploration import Explored
from fxrace.core.interval import wilson
from fxrace.errors import CodeChanged
from fxrace.launch.folder import prune
from fxrace.launch.progress import Ended, Started
from fxrace.launch.record_file import EVENTS, read_trace
from fxrace.launch.stopping import Level
from fxrace.pipeline import Corridor, attribute_rows
from fxrace.records.document import FindingRow
from fxrace.records.exploration import ExploreDocument, OperationFile, PairRow, PairVerdict
from fxrace.records.finding import Finding, Tier
from fxrace.records.outcome import Outcome, Stop, Verdict
from fxrace.records.trial import Limits, Setting, Trial
from fxrace.store import Run, Store, StoredTrial

SCHEMA, SCHEMA_VERSION = "fxrace.explore", 1
TARGET = "fxrace.probe.explore.pair:run"
TOGETHER = 8
#: One pair may take minutes (an Inductor compile at some hundred stops), eight of them longer.
LIMITS = Limits(trial_s=3600.0, silence_s=120.0, busy_s=1800.0)

Pair = tuple[str, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """What is explored: ordered pairs under settings that hold for all of them."""

    pairs: tuple[Pair, ...]
    settings: Mapping[str, Setting]
    operations: Sequence[OperationFile] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Watching:
    """Told how it goes, on the main thread."""

    planned: Callable[[int, int], None]
    ended: Callable[[PairRow], None]


def trial_of(a: str, others: Iterable[str], settings: Mapping[str, Setting]) -> Trial:
    """The trial that explores ``a`` against each of ``others``."""
    return Trial(
        target=TARGET, knobs={"a": a, "b": ",".join(others)}, settings=settings, limits=LIMITS
    )


def digest_of(pair: Pair, settings: Mapping[str, Setting]) -> str:
    """What a pair is known by, whichever pairs it shared a process with."""
    return trial_of(pair[0], pair[1:], settings).digest


def run(
    plan: Plan, *, command: Sequence[str], store: Store, corridor: Corridor, watching: Watching
) -> ExploreDocument:
    """Explore what is missing, store each trial as it ends, and describe the whole."""
    known = _known(store, corridor.environment.digest, plan.settings)
    missing = [pair for pair in plan.pairs if pair not in known]
    watching.planned(len(plan.pairs), len(plan.pairs) - len(missing))
    opened = store.begin_run(
        environment=corridor.environment, command=command, settings=plan.settings,
        axes={"pairs": tuple(f"{a} {b}" for a, b in plan.pairs)},
    )  # fmt: skip
    for stored in {id(one): one for pair, one in known.items() if pair in plan.pairs}.values():
        store.link(opened, stored)
    for trial, ended in _trials(missing, plan.settings, corridor):
        results = core.explored(
            read_trace(ended.directory / EVENTS), _pairs_of(trial), ended.ending
        )
        store.append(opened, **_stored(trial, ended, results))
        for row in _rows(results, plan.settings):
            watching.ended(row)
        if all(result.data["verdict"] != "inconclusive" for result in results):
            prune(ended.directory)
    if corridor.stopping.level is Level.RUN:
        store.end_run(opened)
    return document_of(store, store.run(opened.number), operations=plan.operations)


def document_of(
    store: Store, run: Run, *, operations: Sequence[OperationFile] = ()
) -> ExploreDocument:
    """The document of a stored exploration; a pure view. The newest result of a pair counts."""
    found: dict[Pair, Explored] = {}
    blind: dict[tuple[str, str], None] = {}
    for stored in store.trials_of(run):
        found |= {(one.a, one.b): one for one in _results(stored)}
        blind |= dict.fromkeys(stored.ending.blind)
    wanted = [_pair(text) for text in run.axes.get("pairs", ())]
    results = [found[pair] for pair in wanted if pair in found]
    return ExploreDocument(
        schema=SCHEMA,
        schema_version=SCHEMA_VERSION,
        run=str(run.number),
        environment=run.environment,
        settings=run.settings,
        operations=_told(results, operations),
        pairs=tuple(_rows(results, run.settings)),
        findings=attribute_rows(_findings(results, run.settings)),
        blind=tuple(blind),
        interrupted=run.ended is None,
        report=None,
    )


def _trials(
    missing: Sequence[Pair], settings: Mapping[str, Setting], corridor: Corridor
) -> Iterator[tuple[Trial, Ended]]:
    """Run the missing pairs; what an interruption cut off says nothing and is left out."""
    trials = tuple(_batches(missing, settings))
    for moment in corridor.executor.run(trials, stopping=corridor.stopping):
        if isinstance(moment, Started):
            corridor.progress.started(moment.trial)
        elif moment.ending.stop is not Stop.INTERRUPTED:
            if corridor.executor.sources() != corridor.environment.sources:
                raise CodeChanged(
                    "the code that takes part in trials was edited while they ran",
                    remedy="run the command again; what was stored before the edit is kept",
                )
            yield moment.trial, moment


def _batches(missing: Sequence[Pair], settings: Mapping[str, Setting]) -> Iterator[Trial]:
    by_a: dict[str, list[str]] = defaultdict(list)
    for a, b in missing:
        by_a[a].append(b)
    for a, others in by_a.items():
        for start in range(0, len(others), TOGETHER):
            yield trial_of(a, others[start : start + TOGETHER], settings)


def _pairs_of(trial: Trial) -> list[Pair]:
    return [(trial.knobs["a"], b) for b in trial.knobs["b"].split(",")]


def _pair(text: str) -> Pair:
    a, _, b = text.partition(" ")
    return a, b


def _known(
    store: Store, environment: str, settings: Mapping[str, Setting]
) -> dict[Pair, StoredTrial]:
    """Pairs that need not be explored again, and the stored trial that holds each."""
    return {
        (one.a, one.b): stored
        for stored in store.known(environment).values()
        if stored.trial.target == TARGET and dict(stored.trial.settings) == dict(settings)
        for one in _results(stored)
        if one.data["verdict"] != PairVerdict.INCONCLUSIVE.value
    }


def _stored(trial: Trial, ended: Ended, results: Sequence[Explored]) -> dict[str, Any]:
    return {
        "trial": trial,
        "outcome": _outcome(ended, results),
        "findings": merged(itertools.chain.from_iterable(one.findings for one in results)),
        "ending": ended.ending,
        "payload": {
            "pairs": [
                {**one.data, "shown": one.shown, "symptoms": _symptoms(one)} for one in results
            ]
        },
        "directory": ended.directory,
    }


def _symptoms(one: Explored) -> dict[str, list[str]]:
    return {finding.fingerprint: list(finding.symptoms) for finding in one.findings}


def _results(stored: StoredTrial) -> Iterator[Explored]:
    """The pairs of a stored trial, with the findings that each of them had."""
    every = {finding.fingerprint: finding for finding in stored.findings}
    for data in stored.payload["pairs"]:
        shown = data["shown"]
        yield Explored(
            a=data["a"],
            b=data["b"],
            data=data,
            findings=tuple(every[print_] for print_ in shown if print_ in every),
            shown=shown,
        )


_FAILED = {
    Tier.FAILURE: Verdict.RAISED,
    Tier.SILENT_WRONG: Verdict.WRONG,
    Tier.LEAK: Verdict.WRONG,
}


def _outcome(ended: Ended, results: Sequence[Explored]) -> Outcome:
    """The verdict of the whole process; the pairs have their own."""
    findings = [finding for one in results for finding in one.findings]
    inconclusive = [one for one in results if one.data["verdict"] == "inconclusive"]
    tier = core.strongest(findings)
    verdict = Verdict.CLEAN
    if tier is not None:
        verdict = _FAILED.get(tier, Verdict.WRONG)
    elif len(inconclusive) == len(results):
        verdict = Verdict.BLIND
    symptom = findings[0].symptoms[0] if findings else ""
    if not symptom and inconclusive:
        symptom = str(inconclusive[0].data["reason"])
    return Outcome(verdict=verdict, symptom=symptom, duration_s=round(ended.ending.duration_s, 3))


def _rows(results: Iterable[Explored], settings: Mapping[str, Setting]) -> Iterator[PairRow]:
    for one in results:
        data = one.data
        yield PairRow(
            a=one.a,
            b=one.b,
            grain=data["grain"],
            strategy=data["strategy"],
            points=data["points"],
            stopped=data["stopped"],
            schedules=data["schedules"],
            preemption_bound=data["preemption_bound"],
            exhausted=data["exhausted"],
            slips=data["slips"],
            blocked=data["blocked"],
            differences=data["differences"],
            verdict=PairVerdict(data["verdict"]),
            reason=data["reason"],
            findings=tuple(finding.fingerprint for finding in one.findings),
            duration_s=data["duration_s"],
            digest=digest_of((one.a, one.b), settings),
        )


def _findings(results: Sequence[Explored], settings: Mapping[str, Setting]) -> list[FindingRow]:
    """One row per cause, gravest first, then by how many pairs show it."""
    pairs: dict[str, list[Explored]] = defaultdict(list)
    for one in results:
        for finding in one.findings:
            pairs[finding.fingerprint].append(one)
    rows = [_finding(print_, seen, settings) for print_, seen in pairs.items()]
    return sorted(rows, key=lambda row: (row.tier.value, -len(row.trials), row.title))


def _finding(
    fingerprint: str, seen: Sequence[Explored], settings: Mapping[str, Setting]
) -> FindingRow:
    each: list[Finding] = [f for one in seen for f in one.findings if f.fingerprint == fingerprint]
    gravest = min(each, key=lambda finding: finding.tier.value)
    finding = merged([gravest, *each])[0]
    first = next(one for one in seen if gravest in one.findings)
    shown = [one.shown[fingerprint] for one in seen]
    return FindingRow(
        fingerprint=fingerprint,
        title=gravest.title,
        pattern=finding.pattern,
        tier=gravest.tier,
        state=finding.state,
        hazard=None,
        sides=gravest.sides,
        symptoms=finding.symptoms,
        value=gravest.value,
        token="",
        replay=f"fxrace explore {first.a} {first.b}",
        repro=None,
        reliability=wilson(sum(one["k"] for one in shown), sum(one["n"] for one in shown)),
        remedy="",
        references=finding.references,
        trials=tuple(digest_of((one.a, one.b), settings) for one in seen),
    )


def _told(results: Sequence[Explored], operations: Sequence[OperationFile]) -> Mapping[str, str]:
    helps = {one.name: one.help for one in operations}
    names = dict.fromkeys(name for one in results for name in (one.a, one.b))
    return {name: helps.get(name, "yours") for name in sorted(names)}


def output_line(directory: Path) -> str:
    """How commands name the output folder, where it is not the default."""
    return "" if directory == Path("fxrace-out") else f" --output {directory}"
