"""Hypothesis strategies: schedules, pairs of operations, and small programs of several threads.

For properties over interleavings: ``@given(thread_programs(), schedules())`` and
``fxrace.testing.alone.differs(program, schedule)``. Needs hypothesis; importing it imports no
torch. The surprise: a schedule fits any program. It says after how many choices which other
thread goes on, and what a program has no thread or no choice for is left out.
"""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from fxrace.catalog.operations import operations as files
from fxrace.probe.explore.thread_programs import ThreadProgram
from fxrace.probe.explore.token import Replay

COSTS = ("cheap", "medium", "expensive")


def schedules(*, switches: int = 4, gap: int = 40, threads: int = 2) -> st.SearchStrategy[Replay]:
    """Choosers with at most ``switches`` preemptions, each after at most ``gap`` choices.

    Shrinks to fewer and earlier switches, at last to none.
    """
    turn = st.tuples(st.integers(0, gap), st.integers(1, max(threads - 1, 1)))
    return st.lists(turn, max_size=switches).map(_chooser)


def operation_names(
    *, only: Sequence[str] = (), observers: bool = False, cost: str = "medium"
) -> st.SearchStrategy[str]:
    """Names of operations that cost at most ``cost``; ``only`` limits it to some."""
    affordable = COSTS[: COSTS.index(cost) + 1]
    known = [
        one.name
        for one in files()
        if one.problem is None
        and one.cost in affordable
        and (observers or not one.observes)
        and (not only or one.name in only)
    ]
    return st.sampled_from(known)


def operation_pairs(
    *, only: Sequence[str] = (), observers: bool = False, cost: str = "medium"
) -> st.SearchStrategy[tuple[str, str]]:
    """Ordered pairs of names, as ``fxrace explore A B`` takes them."""
    names = operation_names(only=only, observers=observers, cost=cost)
    return st.tuples(names, names)


def thread_programs(
    *, threads: int = 3, length: int = 3, only: Sequence[str] = (), cost: str = "medium"
) -> st.SearchStrategy[ThreadProgram]:
    """Programs of two to ``threads`` threads with one to ``length`` operations each."""
    names = st.lists(operation_names(only=only, cost=cost), min_size=1, max_size=length)
    made = st.lists(names.map(tuple), min_size=2, max_size=threads)
    return made.map(lambda each: ThreadProgram(threads=tuple(each)))


def _chooser(turns: Sequence[tuple[int, int]]) -> Replay:
    made = [decision for stays, other in turns for decision in (*([0] * stays), other)]
    return Replay(tuple(made))
