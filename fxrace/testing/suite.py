"""The suite of known hazards: which of them this torch has, against what its baseline says.

Known is an expected failure, new fails, fixed passes and is told. The baseline of another torch
(a nightly has none of its own) is read as if it were of this one: what is gone is then fixed.
The surprise: pairs run where those of ``fxrace explore`` run, in forks of an interpreter that has
imported torch's compilers. A fork of pytest has not, and would import them for every pair.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import cache, cached_property
from pathlib import Path

import pytest

from fxrace.catalog.operations import operations
from fxrace.core.exploration import Explored, explored
from fxrace.core.explored_rows import findings
from fxrace.core.looks import CATALOGUE, SUITE
from fxrace.core.pairs import INTERFERENCE, pairs_of, trial_of
from fxrace.errors import InterpreterUnusable
from fxrace.launch.bundled import root
from fxrace.launch.driver import fork_or_spawn
from fxrace.launch.executors.local import LocalExecutor
from fxrace.launch.progress import Ended
from fxrace.launch.record_file import EVENTS, read_trace
from fxrace.launch.script_forks import ScriptForks
from fxrace.launch.stopping import Stopping
from fxrace.pipeline import attribute_rows, hazards
from fxrace.records import wire
from fxrace.records.baseline import Baseline, Sighting
from fxrace.records.document import FindingRow
from fxrace.records.exploration import PairVerdict
from fxrace.records.hazard import Hazard
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
_SETTINGS: Mapping[str, Setting] = {"device": "cpu", "strategy": INTERFERENCE, "budget": 1.0}


def scripts() -> tuple[Hazard, ...]:
    """Every usable hazard of the catalogue."""
    return hazards()


def quick() -> tuple[tuple[str, str], ...]:
    """The pairs of ``fxrace explore --quick``: who is stopped, and who runs meanwhile."""
    chosen = [known for known in operations() if known.quick and known.problem is None]
    return tuple((a.name, b.name) for a in chosen if not a.observes for b in chosen)


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
    """What its tests are given. Use it as a context manager: it keeps two interpreters to fork,
    one for scripts and one for pairs, and starts each when it is first needed.
    """

    def __init__(self, settings: Settings, known: frozenset[str]) -> None:
        self._settings, self._known = settings, known
        self._torch = Torch(python=Path(sys.executable), version=torch_version())
        self._stack = ExitStack()

    def __enter__(self) -> Suite:
        return self

    def __exit__(self, *exc: object) -> None:
        self._stack.close()

    @cached_property
    def _forks(self) -> ScriptForks | None:
        with suppress(InterpreterUnusable):
            forks = self._stack.enter_context(ScriptForks(self._torch.python))
            return forks if forks.usable else None
        return None

    @cached_property
    def _executor(self) -> LocalExecutor:
        folder = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="fxrace-"))
        made = LocalExecutor(
            python=self._torch.python, directory=Path(folder), jobs=1, roots=(root(),),
            mode=fork_or_spawn(),
        )  # fmt: skip
        return self._stack.enter_context(made)

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

    def pair(self, item: pytest.Item, a: str, b: str) -> None:
        """``a`` stopped at every point while ``b`` runs."""
        began = time.monotonic()
        found = self._explored(a, b)
        rows = attribute_rows(
            # No token: nothing is stored that ``fxrace replay`` could look it up in.
            [replace(row, token="", replay=f"fxrace explore {a} {b}", trials=(item.nodeid,))
             for row in findings([found], _SETTINGS, "")]
        )  # fmt: skip
        verdict = PairVerdict(found.data["verdict"])
        # A lock that keeps the two apart is a remedy, and not a reason to say nothing.
        said = PairVerdict.SAFE if verdict is PairVerdict.BLOCKED else verdict
        judged = judge(
            rows, said, found.data["reason"], expect=CLEAN, known=(), baseline=self._known,
            fail_on=self._settings.fail_on, torch=self._torch.version,
        )  # fmt: skip
        _keep(
            item, judged, verdict, began, schedules=int(found.data["schedules"]), rows=rows,
        )  # fmt: skip
        outcome.end(judged)

    def _explored(self, a: str, b: str) -> Explored:
        """As ``fxrace explore a b`` would, in a trial process of its own."""
        trial = trial_of(a, [b], _SETTINGS)
        for moment in self._executor.run((trial,), stopping=Stopping()):
            if isinstance(moment, Ended):
                trace = read_trace(moment.directory / EVENTS)
                return explored(trace, pairs_of(trial), moment.ending)[0]
        raise AssertionError("an executor that nobody stops ends what it began")

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
    schedules: int = 0, results: Sequence[ReproRow] = (), rows: Sequence[FindingRow] = (),
) -> None:  # fmt: skip
    tested = item.stash.setdefault(outcome.FOUND, outcome.Tested())
    tested.results += results
    tested.rows += rows
    tested.tests.append(
        JudgedTest(
            test=item.nodeid, mode=SUITE, verdict=verdict, became=judged.became,
            reason=judged.reason, schedules=schedules,
            findings=tuple(row.fingerprint for row in rows),
            known=tuple(row.fingerprint for row in judged.known),
            duration_s=round(time.monotonic() - began, 3),
        )
    )  # fmt: skip


def _numbers(version: str) -> tuple[int, ...]:
    parts = version.partition("+")[0].split(".")[:2]
    return tuple(int(part) for part in parts if part.isdigit())
