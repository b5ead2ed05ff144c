"""The corridor of ``explore``: pairs -> trials -> run -> store -> document.

Several pairs with one A share a trial, because they share what A gives alone; what is stored and
counted is still the pair. A pair that the store holds for this environment and these settings is
not explored again, so a killed exploration loses at most the trials that ran.
"""

from __future__ import annotations

import itertools
import shlex
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fxrace.core import exploration as core
from fxrace.core.causes import merged
from fxrace.core.exploration import Explored
from fxrace.core.explored_rows import findings, outcome, rows, told
from fxrace.core.interval import wilson
from fxrace.core.pairs import Pair, batches, is_exploration, pair_of, pairs_of, replay_of
from fxrace.errors import CodeChanged, NothingToShow
from fxrace.launch.folder import prune
from fxrace.launch.progress import Ended, Started
from fxrace.launch.record_file import EVENTS, read_trace
from fxrace.launch.stopping import Level
from fxrace.pipeline import Corridor, attribute_rows
from fxrace.records.exploration import (
    ExploreDocument,
    OperationFile,
    PairRow,
    PairVerdict,
    TokenDocument,
)
from fxrace.records.outcome import Stop
from fxrace.records.trial import Setting, Trial
from fxrace.store import Run, Store, StoredTrial

SCHEMA, REPLAY_SCHEMA, SCHEMA_VERSION = "fxrace.explore", "fxrace.replay_token", 1


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


def run(
    plan: Plan, *, command: Sequence[str], output: Path, store: Store, corridor: Corridor,
    watching: Watching,
) -> ExploreDocument:  # fmt: skip
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
        results = core.explored(read_trace(ended.directory / EVENTS), pairs_of(trial), ended.ending)
        store.append(opened, **_stored(trial, ended, results))
        for row in rows(results, plan.settings):
            watching.ended(row)
        if all(result.data["verdict"] != "inconclusive" for result in results):
            prune(ended.directory)
    if corridor.stopping.level is Level.RUN:
        store.end_run(opened)
    return document_of(store, store.run(opened.number), plan.operations, output=output)


def explores(run: Run) -> bool:
    """True for runs of ``explore``."""
    return "pairs" in run.axes


def document_of(
    store: Store, run: Run, operations: Sequence[OperationFile] = (), *, output: Path
) -> ExploreDocument:
    """The document of a stored exploration; a pure view. The newest result of a pair counts."""
    found: dict[Pair, Explored] = {}
    blind: dict[tuple[str, str], None] = {}
    for stored in store.trials_of(run):
        found |= {(one.a, one.b): one for one in _results(stored)}
        blind |= dict.fromkeys(stored.ending.blind)
    wanted = [pair_of(text) for text in run.axes.get("pairs", ())]
    results = [found[pair] for pair in wanted if pair in found]
    return ExploreDocument(
        schema=SCHEMA,
        schema_version=SCHEMA_VERSION,
        run=str(run.number),
        environment=run.environment,
        settings=run.settings,
        operations=told(results, operations),
        pairs=tuple(rows(results, run.settings)),
        findings=attribute_rows(findings(results, run.settings, _where(output))),
        blind=tuple(blind),
        interrupted=run.ended is None,
        report=None,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Remembered:
    """A token that the store knows: of which pair, under which settings. ``shown`` is what it
    showed: its fingerprint, the points, and which side came out wrong.
    """

    token: str
    pair: Pair
    settings: Mapping[str, Setting]
    shown: Mapping[str, Setting]
    environment: str


def remembered(store: Store, token: str) -> Remembered:
    """Where this token came from. Raises NothingToShow."""
    for stored in filter(lambda one: is_exploration(one.trial), store.mentioning(token)):
        for one in _results(stored):
            for fingerprint, shown in one.shown.items():
                if shown.get("token") == token:
                    return Remembered(
                        token=token,
                        pair=(one.a, one.b),
                        settings=stored.trial.settings,
                        shown={**shown, "fingerprint": fingerprint},
                        environment=stored.environment,
                    )
    raise NothingToShow(
        f"no exploration in this folder has the token {token}",
        remedy="name the folder with --output, or explore the pair again",
    )


def replay(known: Remembered, *, times: int, corridor: Corridor) -> TokenDocument:
    """Play one schedule ``times`` times and count how often it showed its cause."""
    trial = replay_of(known.pair, known.settings, shown=known.shown, times=times)
    said: Mapping[str, Any] = {"k": 0, "n": 0, "exact": 0, "drift": [], "fingerprints": {}}
    problem = ""
    for moment in corridor.executor.run((trial,), stopping=corridor.stopping):
        if isinstance(moment, Ended):
            trace = read_trace(moment.directory / EVENTS)
            event, broken = trace.last("replayed"), trace.last("raised")
            said = event.data if event else said
            problem = "" if event else _how(moment, broken.data["error"] if broken else None)
    return TokenDocument(
        schema=REPLAY_SCHEMA,
        schema_version=SCHEMA_VERSION,
        environment=corridor.environment,
        token=known.token,
        a=known.pair[0],
        b=known.pair[1],
        fingerprint=str(known.shown["fingerprint"]),
        reproduced=wilson(said["k"], said["n"]),
        exact=said["exact"],
        drift=next(iter(said["drift"]), ""),
        fingerprints=said["fingerprints"],
        problem=problem,
    )


def _how(moment: Ended, error: Mapping[str, Any] | None) -> str:
    if error is not None:
        return f"{error['type']}: {error['message']}"
    return f"the process ended ({moment.ending.stop.value} {moment.ending.code})"


def ways(store: Store, run: Run) -> Mapping[str, list[Mapping[str, Any]]]:
    """Fingerprint -> every schedule of this run that shows it, as a ``difference`` names it."""
    found: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    wanted = set(run.axes.get("pairs", ()))
    for stored in store.trials_of(run):
        for one in _results(stored):
            if f"{one.a} {one.b}" in wanted:
                states = {finding.fingerprint: finding.state for finding in one.findings}
                for print_, shown in one.shown.items():
                    error: dict[str, Any] | None = {} if shown["raised"] else None
                    way = {**shown, "a": one.a, "b": one.b, "error": error}
                    found[print_].append({**way, "state": states.get(print_)})
    return found


def _trials(
    missing: Sequence[Pair], settings: Mapping[str, Setting], corridor: Corridor
) -> Iterator[tuple[Trial, Ended]]:
    """Run the missing pairs; what an interruption cut off says nothing and is left out."""
    trials = tuple(batches(missing, settings))
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


def _known(
    store: Store, environment: str, settings: Mapping[str, Setting]
) -> dict[Pair, StoredTrial]:
    """Pairs that need not be explored again, and the stored trial that holds each."""
    return {
        (one.a, one.b): stored
        for stored in store.known(environment).values()
        if is_exploration(stored.trial) and dict(stored.trial.settings) == dict(settings)
        for one in _results(stored)
        if one.data["verdict"] != PairVerdict.INCONCLUSIVE.value
    }


def _stored(trial: Trial, ended: Ended, results: Sequence[Explored]) -> dict[str, Any]:
    return {
        "trial": trial,
        "outcome": outcome(ended.ending, results),
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


def _where(output: Path) -> str:
    """How a command names the output folder, where it is not the usual one."""
    return "" if output == Path("fxrace-out") else f" --output {shlex.quote(str(output))}"
