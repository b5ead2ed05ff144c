"""A stateful machine: it builds random programs of several threads and looks for what differs.

Rules add threads and operations and play schedules, each of which should end as running serially
does. What does not is kept and told, and the machine goes on. The surprise: it never fails, as
hypothesis would then play it again, and a search with limits in seconds may end another way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
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
#: An operation has from two choices (a setter) to some hundred (a trace): early, late, very late.
_GAPS = (4, 40, 400)
_SCHEDULES = st.one_of([schedules(threads=THREADS, gap=gap) for gap in _GAPS])


@dataclass(frozen=True, kw_only=True, slots=True)
class Unlike:
    """A schedule that ended unlike running serially."""

    made: ThreadProgram
    cause: Cause
    played: Played


@dataclass
class Search:
    """What all runs of the machine share. ``over`` is asked before each schedule, ``told`` is
    given each cause that is not in ``known`` once. ``only`` limits the operations to some.
    """

    bench: Bench
    told: Callable[[Unlike], None]
    known: set[str] = field(default_factory=set)
    cost: str = "medium"
    only: Sequence[str] = ()
    over: Callable[[], bool] = lambda: False
    schedules: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    seen: Counter[str] = field(default_factory=Counter)
    programs: set[ThreadProgram] = field(default_factory=set)

    def check(self, made: ThreadProgram, chooser: Chooser) -> None:
        """Play one schedule."""
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
        assert compared.played is not None
        self._note(Unlike(made=made, cause=compared.cause, played=compared.played))

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
        for cause, _ in found.found:
            played = found.simplest(cause.fingerprint)
            self._note(Unlike(made=made, cause=cause, played=played))

    def _note(self, unlike: Unlike) -> None:
        self.seen[unlike.cause.fingerprint] += 1
        if unlike.cause.fingerprint not in self.known:
            self.known.add(unlike.cause.fingerprint)
            self.told(unlike)


def machine(search: Search) -> type[RuleBasedStateMachine]:
    """The machine over this search; run it with ``hypothesis.stateful``."""
    names = operation_names(cost=search.cost, only=search.only)

    class Programs(RuleBasedStateMachine):
        def __init__(self) -> None:
            super().__init__()
            self.threads: list[list[str]] = []

        @initialize(pair=operation_pairs(cost=search.cost, only=search.only))
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

        @rule(choosers=st.lists(_SCHEDULES, min_size=4, max_size=12))
        def play(self, choosers: list[Chooser]) -> None:
            made = ThreadProgram(threads=tuple(map(tuple, self.threads)))
            for chooser in choosers:
                search.check(made, chooser)

        @rule(number=st.integers(0, 2**16))
        def explore(self, number: int) -> None:
            search.explore(ThreadProgram(threads=tuple(map(tuple, self.threads))), number)

    return Programs
