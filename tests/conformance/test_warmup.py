"""axis ``warmup``: all drafters at all lengths or none, one at a time each, and never stuck."""

from __future__ import annotations

import threading

import pytest

from harness.contracts import Warmup
from harness.parts import make
from tests.conformance.folder import names, usable
from tests.unit.harness_threads.threads import Background

DRAFTERS, CONTEXTS = 3, (32, 48)


@pytest.fixture(params=names("warmup"))
def warmup(request: pytest.FixtureRequest) -> Warmup:
    live: Warmup = make("warmup", request.param, usable("warmup", request.param))
    return live


class Rehearsed:
    """A drafter that notes what is rehearsed, where, and whether two do it at once."""

    def __init__(self, drafter: int, *, fails: bool = False) -> None:
        self.drafter, self._fails = drafter, fails
        self.done: list[tuple[int, str]] = []
        self._busy = threading.Lock()

    def rehearse(self, context: int) -> None:
        assert self._busy.acquire(blocking=False), "one drafter rehearsed by two threads at once"
        try:
            self.done.append((context, threading.current_thread().name))
            if self._fails:
                raise KeyError(f"drafter {self.drafter}")
        finally:
            self._busy.release()


def in_threads(warmup: Warmup, drafters: list[Rehearsed]) -> list[Background[None]]:
    """What each drafter's thread does, begun in reverse order; all started, none awaited."""
    return [
        Background(
            lambda d=d: warmup.in_drafter(d, CONTEXTS, len(drafters)), f"drafter-{d.drafter}"
        )
        for d in reversed(drafters)
    ]


def assert_all_or_none(drafters: list[Rehearsed]) -> None:
    lengths = {tuple(sorted(context for context, _ in d.done)) for d in drafters}
    assert lengths in ({()}, {CONTEXTS})


def test_threads_rehearse_all_or_none(warmup: Warmup) -> None:
    drafters = [Rehearsed(index) for index in range(DRAFTERS)]
    Background(lambda: warmup.before_threads(drafters, CONTEXTS), "main").result()
    for thread in in_threads(warmup, drafters):
        thread.result()
    assert_all_or_none(drafters)
    for drafter in drafters:
        assert {name for _, name in drafter.done} <= {"main", f"drafter-{drafter.drafter}"}


def test_the_oracle_rehearses_all_or_none(warmup: Warmup) -> None:
    drafters = [Rehearsed(index) for index in range(DRAFTERS)]

    def alone() -> None:
        warmup.before_threads(drafters, CONTEXTS)
        for drafter in drafters:
            warmup.in_drafter(drafter, CONTEXTS, 1)

    Background(alone, "main").result()
    assert_all_or_none(drafters)


def test_a_failing_rehearsal_is_seen_and_holds_nobody_up(warmup: Warmup) -> None:
    drafters = [Rehearsed(0, fails=True), Rehearsed(1), Rehearsed(2)]
    try:
        Background(lambda: warmup.before_threads(drafters, CONTEXTS), "main").result()
    except KeyError:
        return  # on main it ends the trial: there are no threads yet
    threads = in_threads(warmup, drafters)
    errors = {}
    for thread in threads:
        try:
            thread.result()
        except KeyError as error:
            errors[thread.thread.name] = error
    assert set(errors) == ({"drafter-0"} if drafters[0].done else set())
    assert_all_or_none(drafters[1:])
