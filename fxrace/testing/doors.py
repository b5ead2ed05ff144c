"""The two ways a test is looked at: its threads are played, or it is watched while it runs."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.metadata import version

import pytest

import fxrace
from fxrace.records.exploration import PairVerdict
from fxrace.testing import exploration, outcome
from fxrace.testing.exploration import Result, Subject
from fxrace.testing.judging import Judged, holds, judge
from fxrace.testing.settings import Isolate, Settings, seed_of
from fxrace.testing.wanted import CLEAN, Wanted, known_of


@dataclass(frozen=True, kw_only=True, slots=True)
class Doors:
    """What all tests of a run share. ``baseline`` are the fingerprints that are known."""

    settings: Settings
    baseline: frozenset[str] = frozenset()

    def explore(
        self, item: pytest.Item, subject: Subject, wanted: Wanted, *, replay: str
    ) -> tuple[Result, Judged]:
        """Explore, or play the token ``replay``, and keep what came of it. Judges, ends nothing."""
        began = time.monotonic()
        wanted = replace(wanted, tolerated=self._tolerated(wanted))
        for token in () if replay else _tokens_of_earlier_run(item):
            result = self._played(subject, wanted, token)
            if result.explored.findings:
                break
        else:
            result = self._played(subject, wanted, replay)
        rows = outcome.rows_of(result, item.nodeid)
        data = result.explored.data
        judged = judge(
            rows, PairVerdict(data["verdict"]), data["reason"], expect=wanted.expect,
            known=wanted.known, baseline=self.baseline, fail_on=self.settings.fail_on,
            torch=torch_version(),
        )  # fmt: skip
        if not result.foreign:
            outcome.keep(
                item, "replay" if replay else "explore", judged, rows, seed=wanted.seed,
                result=result, duration_s=time.monotonic() - began,
            )  # fmt: skip
        return result, judged

    @contextmanager
    def watch(self, item: pytest.Item, expect: str = CLEAN) -> Iterator[list[Judged]]:
        """Watch the block; the list then holds what it was judged to be."""
        from fxrace import guards

        began, told = time.monotonic(), list[Judged]()
        with guards.install(*self.settings.guards), fxrace.watch() as seen:
            yield told
        rows = outcome.rows_seen(seen.findings, item.nodeid)
        hooks = [f"{what}: {why}" for what, why in seen.blind if what.startswith("hooks")]
        verdict = PairVerdict.INCONCLUSIVE if hooks else PairVerdict.SAFE
        judged = judge(
            rows, verdict, "; ".join(hooks), expect=expect, known=known_of(item),
            baseline=self.baseline, fail_on=self.settings.fail_on, torch=torch_version(),
        )  # fmt: skip
        told.append(judged)
        outcome.keep(
            item, "observe", judged, rows, seed=seed_of(self.settings.seed, item.nodeid),
            verdict=PairVerdict.FINDING if rows else verdict, duration_s=time.monotonic() - began,
        )  # fmt: skip

    def _played(self, subject: Subject, wanted: Wanted, replay: str) -> Result:
        if self.settings.isolate is Isolate.NONE:
            return exploration.in_this_process(subject, wanted, replay)
        return exploration.in_forks(subject, wanted, replay)

    def _tolerated(self, wanted: Wanted) -> frozenset[str]:
        known = {one.what for one in wanted.known if holds(one, torch_version())}
        return self.baseline | known


def _tokens_of_earlier_run(item: pytest.Item) -> tuple[str, ...]:
    """Where a plugin runs a failed test again: the schedules that failed it."""
    earlier = item.stash.get(outcome.FOUND, None)
    if earlier is None or getattr(item, "execution_count", 1) < 2:
        return ()
    return earlier.tokens


def torch_version() -> str:
    """As it names itself; where it is not imported (in a controller), as it was installed."""
    loaded = sys.modules.get("torch")
    return str(loaded.__version__) if loaded else version("torch")
