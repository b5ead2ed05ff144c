"""The fixture ``fxrace``: a test says itself what runs side by side, or which block to watch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import pytest

from fxrace.core.exploration import Explored
from fxrace.probe.explore import token
from fxrace.probe.explore.thread_programs import LETTERS
from fxrace.testing import outcome
from fxrace.testing.exploration import Subject
from fxrace.testing.session import OTHERS_TOKEN, Session, session_of, wanted_for_calls
from fxrace.testing.wanted import GRAINS, Wanted, with_

#: Of so many explorations a test, a token is known to be of this test before it is played.
NUMBERED = 64


@dataclass
class Control:
    """One test's. Explorations are numbered, because a token is good for one of them."""

    item: pytest.Item
    session: Session
    _number: int = field(default=0, init=False)

    def explore(
        self, *callables: Callable[..., Any], prepare: Callable[[], Any] | None = None, **asked: Any
    ) -> Explored:
        """Play the callables as threads; one alone is run by ``threads`` of them.

        Keywords are those of the marker. ``prepare`` makes, before every schedule, what each
        callable is then given. Fails the test for a race; returns what was tried. Where a token
        is replayed, it skips a test that the token is not of; explorations of the same test
        beside the token's go as usual, since the test may need what they return.
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

        wanted = replace(wanted, name=self._name(self._number), threads=len(every))
        result, judged = self.session.doors.explore(
            self.item,
            Subject(who=who, prepare=bodies, silent="capfd" not in self.item.fixturenames),  # type: ignore[attr-defined]
            wanted,
            replay=self._token_for(wanted),
        )
        outcome.end(judged)
        return result.explored

    def _name(self, number: int) -> str:
        return f"{self.item.nodeid} {number}"

    def _token_for(self, wanted: Wanted) -> str:
        """The token to replay, if it is of this exploration. Skips the test if it is of none."""
        replay = self.session.settings.replay
        if not replay:
            return ""
        about = token.read(replay).about
        if about == token.what(wanted.name, wanted.threads, wanted.grain, ()):
            return replay
        numbers = range(1, max(NUMBERED, self._number) + 1)
        every = product(map(self._name, numbers), range(1, len(LETTERS) + 1), GRAINS)
        if about not in {token.what(name, threads, grain, ()) for name, threads, grain in every}:
            pytest.skip(OTHERS_TOKEN)
        return ""

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
