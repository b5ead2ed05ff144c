"""A stateful machine: it builds random programs of several threads and looks for what differs.

Rules add threads and operations and play schedules; the invariant is that every schedule ends as
running serially does. What is in ``known`` counts and passes, so that a search goes on to what
nobody has seen. The surprise: the machine plays nothing in its own process.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from fxrace.probe.explore.cause import Cause
from fxrace.probe.explore.choices import Chooser
from fxrace.probe.explore.explorer import Budget
from fxrace.probe.explore.played import Played
from fxrace.probe.explore.thread_programs import ThreadProgram
from fxrace.strategies import operation_names, operation_pairs, schedules
from fxrace.testing.alone import Bench

THREADS, LENGTH = 3, 3
SCHEDULES, SECONDS = 40, 60.0


class Unlike(AssertionError):
    """A schedule ended unlike running serially, by a cause that is not known."""

    def __init__(self, made: ThreadProgram, cause: Cause, played: Played) -> None:
        super().__init__(f"{cause.fingerprint} {cause.state}: {made}")
        self.made, self.cause, self.played = made, cause, played


@dataclass
class Search:
    """What all runs of the machine share. ``over`` is asked before each schedule."""

    bench: Bench
    known: Collection[str] = ()
    cost: str = "medium"
    schedules: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    seen: Counter[str] = field(default_factory=Counter)
    programs: set[ThreadProgram] = field(default_factory=set)

    def over(self) -> bool:
        return False

    def check(self, made: ThreadProgram, chooser: Chooser) -> None:
        """Play it. Raises Unlike for a cause that is not known."""
        if self.over():
            return
        self.programs.add(made)
        compared = self.bench.compare(made, chooser)
        if compared.why_not:
            self.refused[compared.why_not] += 1
            return
        self.schedules += 1
        if compared.cause is None:
            return
        self.seen[compared.cause.fingerprint] += 1
        if compared.cause.fingerprint not in self.known:
            assert compared.played is not None
            raise Unlike(made, compared.cause, compared.played)

    def explore(self, made: ThreadProgram, number: int) -> None:
        """The same with the explorer's strategies, for what few switches do not reach."""
        if self.over():
            return
        self.programs.add(made)
        budget = Budget(schedules=SCHEDULES, seconds=SECONDS, seed=number)
        found, why_not = self.bench.explore(made, budget)
        if found is None:
            self.refused[why_not] += 1
            return
        self.schedules += found.schedules
        for cause in found.causes:
            self.seen[cause.fingerprint] += 1
            if cause.fingerprint not in self.known:
                shown = [one for one, _ in found.found if one.fingerprint == cause.fingerprint]
                if shown:
                    raise Unlike(made, cause, found.simplest(cause.fingerprint))


def machine(search: Search) -> type[RuleBasedStateMachine]:
    """The machine over this search; run it with ``hypothesis.stateful``."""
    names = operation_names(cost=search.cost)

    class Programs(RuleBasedStateMachine):
        def __init__(self) -> None:
            super().__init__()
            self.threads: list[list[str]] = []

        @initialize(pair=operation_pairs(cost=search.cost))
        def begin(self, pair: tuple[str, str]) -> None:
            self.threads = [[name] for name in pair]

        @rule(name=names, thread=st.integers(0, THREADS - 1))
        def append(self, name: str, thread: int) -> None:
            operations = self.threads[thread % len(self.threads)]
            if len(operations) < LENGTH:
                operations.append(name)

        @precondition(lambda self: len(self.threads) < THREADS)
        @rule(name=names)
        def start_thread(self, name: str) -> None:
            self.threads.append([name])

        @rule(choosers=st.lists(schedules(threads=THREADS), min_size=4, max_size=12))
        def play(self, choosers: list[Chooser]) -> None:
            made = ThreadProgram(threads=tuple(map(tuple, self.threads)))
            for chooser in choosers:
                search.check(made, chooser)

        @rule(number=st.integers(0, 2**16))
        def explore(self, number: int) -> None:
            search.explore(ThreadProgram(threads=tuple(map(tuple, self.threads))), number)

    return Programs
