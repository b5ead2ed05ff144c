"""The fixture ``fxrace``: a test says itself what runs side by side, or which block to watch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from fxrace.core.exploration import Explored
from fxrace.probe.explore.thread_programs import LETTERS
from fxrace.testing import outcome
from fxrace.testing.exploration import Subject
from fxrace.testing.session import Session, session_of, wanted_for_calls
from fxrace.testing.wanted import with_


@dataclass
class Control:
    """One test's. Explorations are numbered, because a token is good for one of them."""

    item: pytest.Item
    session: Session
    _number: int = field(default=0, init=False)

    def explore(
        self, *callables: Callable[..., Any], prepare: Callable[[], Any] | None = None, **asked: Any
    ) -> Explored | None:
        """Play the callables as threads; one alone is run by ``threads`` of them.

        Keywords are those of the marker. ``prepare`` makes, before every schedule, what each
        callable is then given. Fails the test for a race; returns what was tried, or None while
        the token of another exploration is replayed.
        """
        self._number += 1
        wanted = with_(wanted_for_calls(self.item, self.session), (), asked, self.item.nodeid)
        if not callables or len(callables) > len(LETTERS):
            raise pytest.UsageError(f"fxrace.explore takes 1 to {len(LETTERS)} callables")
        every = callables if len(callables) > 1 else callables * wanted.threads
        who = tuple(getattr(one, "__name__", type(one).__name__) for one in every)

        def bodies() -> list[Callable[[], Any]]:
            if prepare is None:
                return list(every)
            subject = prepare()
            return [lambda one=one: one(subject) for one in every]  # type: ignore[misc]

        result, judged = self.session.doors.explore(
            self.item,
            Subject(who=who, prepare=bodies, silent="capfd" not in self.item.fixturenames),  # type: ignore[attr-defined]
            replace(wanted, name=f"{self.item.nodeid} {self._number}", threads=len(every)),
        )
        if result.foreign:
            return None
        outcome.end(judged)
        return result.explored

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Watch the block with the hooks of ``fxrace run``; fails the test for a race."""
        with self.session.doors.watch(self.item) as told:
            yield
        outcome.end(told[0])


def control_of(request: pytest.FixtureRequest) -> Control:
    """Skips the test where fxrace is off: nothing would be tried, and that is no pass."""
    session = session_of(request.config)
    if session is None:
        pytest.skip("fxrace is off; --fxrace=explore turns it on")
    return Control(request.node, session)
