"""The suite of known hazards: which of them this torch has, against what its baseline says.

Known is an expected failure, new fails, fixed passes and is told. The baseline of another torch
(a nightly has none of its own) is read as if it were of this one: what is gone is then fixed.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from fxrace.catalog.operations import operations
from fxrace.core.exploration import explored
from fxrace.core.explored_rows import findings
from fxrace.core.looks import CATALOGUE
from fxrace.core.pairs import INTERFERENCE, pairs_of, trial_of
from fxrace.errors import InterpreterUnusable
from fxrace.launch.record_file import read_trace
from fxrace.launch.script_forks import ScriptForks
from fxrace.pipeline import attribute_rows, hazards
from fxrace.probe.explore import pair
from fxrace.probe.explore.interference_fork import forked
from fxrace.probe.recorder import Recorder
from fxrace.records import wire
from fxrace.records.baseline import Baseline, Sighting
from fxrace.records.exploration import PairVerdict
from fxrace.records.hazard import Hazard
from fxrace.records.outcome import Ending, Stop
from fxrace.records.repro import Judgement, ReproRow, Torch
from fxrace.records.testing import Became, JudgedTest
from fxrace.records.trial import Setting
from fxrace.reproduction import one
from fxrace.testing import outcome
from fxrace.testing.doors import torch_version
from fxrace.testing.judging import Judged, judge
from fxrace.testing.settings import Settings
from fxrace.testing.wanted import CLEAN

BASELINES = Path(__file__).parents[1] / "suite" / "baselines"
EXPLORED_S = 1800.0
#: Of the stops that ``fxrace explore`` makes: this is a look, and not the matrix.
BUDGET = 0.1
_SETTINGS: Mapping[str, Setting] = {"device": "cpu", "strategy": INTERFERENCE, "budget": BUDGET}


def scripts() -> tuple[Hazard, ...]:
    """Every usable hazard of the catalogue."""
    return hazards()


def quick() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The quick matrix: those that are stopped, and all that run meanwhile."""
    chosen = [known for known in operations() if known.quick and known.problem is None]
    return tuple(k.name for k in chosen if not k.observes), tuple(k.name for k in chosen)


@cache
def shipped(torch: str, folder: Path = BASELINES) -> Baseline | None:
    """The baseline of this torch, else the newest one of an older torch, read as of this one."""
    versions = {_numbers(path.stem.partition("-")[2]): path for path in folder.glob("torch-*.json")}
    older = [version for version in versions if version <= _numbers(torch)]
    if not older:
        return None
    return as_of(wire.decode(Baseline, versions[max(older)].read_bytes()), torch)


def as_of(baseline: Baseline, torch: str) -> Baseline:
    """The same, as if it had been made on this torch."""

    def here(one: Sighting) -> Sighting:
        return replace(one, place=replace(one.place, torch=torch))

    return replace(
        baseline,
        entries=tuple(replace(e, seen=tuple(map(here, e.seen))) for e in baseline.entries),
    )


class Suite:
    """What its tests are given. Use it as a context manager: it keeps one interpreter to fork."""

    def __init__(self, settings: Settings, known: frozenset[str]) -> None:
        self._settings, self._known = settings, known
        self._torch = Torch(python=Path(sys.executable), version=torch_version())
        self._stack = ExitStack()
        self._forks: ScriptForks | None = None

    def __enter__(self) -> Suite:
        with suppress(InterpreterUnusable):
            forks = self._stack.enter_context(ScriptForks(self._torch.python))
            self._forks = forks if forks.usable else None
        return self

    def __exit__(self, *exc: object) -> None:
        self._stack.close()

    def script(self, item: pytest.Item, hazard: Hazard) -> None:
        """Both twins of one hazard; the test becomes what the baseline makes of it."""
        began = time.monotonic()
        row = one(hazard, self._torch, self._forks)
        judged = self._judged(row)
        verdict = PairVerdict.SAFE if judged.became is Became.PASSED else PairVerdict.FINDING
        _keep(item, judged, verdict, began, results=(row,))
        if judged.became is Became.FAILED:
            pytest.fail(f"new on torch {row.torch}: {hazard.title}\n{judged.reason}", pytrace=False)
        outcome.end(judged)

    def operation(self, item: pytest.Item, a: str, others: Sequence[str]) -> None:
        """``a`` stopped at every point while each of the others runs."""
        began = time.monotonic()
        trial = trial_of(a, others, _SETTINGS)
        with tempfile.TemporaryDirectory(prefix="fxrace-") as folder:
            events = Path(folder) / "events.jsonl"
            heard = forked(
                lambda _: pair.run(trial, Recorder(events)), limit_s=EXPLORED_S, watchdog=False
            )
            trace = read_trace(events)
        code = 0 if heard.last("broken") is None else 1
        ending = Ending(stop=Stop.EXITED, code=code, duration_s=0.0, overhead_s=0.0)
        results = explored(trace, pairs_of(trial), ending)
        rows = attribute_rows(findings(results, _SETTINGS, ""))
        unclear = [one_ for one_ in results if one_.data["verdict"] == "inconclusive"]
        reason = f"{unclear[0].b}: {unclear[0].data['reason']}" if unclear else ""
        verdict = PairVerdict.INCONCLUSIVE if unclear else PairVerdict.SAFE
        judged = judge(
            rows, verdict, reason, expect=CLEAN, known=(), baseline=self._known,
            fail_on=self._settings.fail_on, torch=self._torch.version,
        )  # fmt: skip
        schedules = sum(int(one_.data["schedules"]) for one_ in results)
        verdict = PairVerdict.FINDING if rows else verdict
        tested = _keep(item, judged, verdict, began, schedules=schedules)
        tested.rows += rows
        tested.tests[-1] = replace(
            tested.tests[-1],
            findings=tuple(row.fingerprint for row in rows),
            known=tuple(row.fingerprint for row in judged.known),
        )
        outcome.end(judged)

    def _judged(self, row: ReproRow) -> Judged:
        said = f"{row.racy.verdict.value if row.racy.verdict else 'not run'}: {row.reason}"
        if row.judgement is Judgement.BROKEN:
            return Judged(became=Became.NOTHING, reason=f"broken: {said}")
        if row.judgement is not Judgement.REPRODUCED:
            return Judged(became=Became.PASSED, reason=said)
        if f"{CATALOGUE}{row.slug}" in self._known:
            return Judged(became=Became.KNOWN, reason=f"known: {row.slug}")
        return Judged(became=Became.FAILED, reason=said)


def _keep(
    item: pytest.Item, judged: Judged, verdict: PairVerdict, began: float, *,
    schedules: int = 0, results: Sequence[ReproRow] = (),
) -> outcome.Tested:  # fmt: skip
    tested = item.stash.setdefault(outcome.FOUND, outcome.Tested())
    tested.results += results
    tested.tests.append(
        JudgedTest(
            test=item.nodeid, mode="suite", verdict=verdict, became=judged.became,
            reason=judged.reason, schedules=schedules,
            duration_s=round(time.monotonic() - began, 3),
        )
    )  # fmt: skip
    return tested


def _numbers(version: str) -> tuple[int, ...]:
    parts = version.partition("+")[0].split(".")[:2]
    return tuple(int(part) for part in parts if part.isdigit())
