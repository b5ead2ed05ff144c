"""Every schedule with at most so many preemptions, once each: absence up to a bound is a proof.

Depth first. A schedule is named by its choices; the next one takes the deepest choice that has
an alternative left whose preemption is still within the bound. Nothing is known beforehand: the
tree is learnt from what was played. The surprise: the proof holds only while the same choices
lead to the same points, so each replayed prefix is compared, and a difference is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from math import comb, factorial

from fxrace.probe.explore.choices import Chooser, Fixed
from fxrace.probe.explore.played import Step
from fxrace.probe.explore.strategies import Setting, Strategy


@dataclass
class _Node:
    """A choice on the present path. ``spent`` preemptions lie before it."""

    step: Step
    chosen: int
    spent: int
    untried: list[int] = field(default_factory=list)

    def cost(self, thread: int) -> int:
        return int(self.step.current in self.step.runnable and thread != self.step.current)


class Exhaustive:
    """The tree of choices, of which one path is kept."""

    def __init__(self, setting: Setting) -> None:
        self._bound = setting.bound
        self._path: list[_Node] = []
        self._begun = False

    def propose(self) -> Chooser | None:
        if self._begun and not self._advance():
            return None
        self._begun = True
        return Fixed(tuple(node.chosen for node in self._path))

    def learn(self, steps: Sequence[Step]) -> str:
        choices = [step for step in steps if step.is_choice]
        for number, (node, step) in enumerate(zip(self._path, choices, strict=False)):
            if (step.runnable, step.current, step.at) != _key(node.step):
                return f"choice {number}: {_told(node.step)} before, {_told(step)} now"
        if len(choices) < len(self._path):
            return f"choice {len(choices)}: {_told(self._path[len(choices)].step)} before, none now"
        for step in choices[len(self._path) :]:
            self._extend(step)
        return ""

    def _extend(self, step: Step) -> None:
        last = self._path[-1] if self._path else None
        spent = 0 if last is None else last.spent + last.cost(last.chosen)
        node = _Node(step=step, chosen=step.chosen, spent=spent)
        node.untried = [
            thread
            for thread in step.runnable
            if thread != step.chosen and spent + node.cost(thread) <= self._bound
        ]
        self._path.append(node)

    def _advance(self) -> bool:
        """To the next path; False when there is none."""
        while self._path and not self._path[-1].untried:
            self._path.pop()
        if not self._path:
            return False
        self._path[-1].chosen = self._path[-1].untried.pop(0)
        return True


def _key(step: Step) -> tuple[tuple[int, ...], int | None, str]:
    return step.runnable, step.current, step.at


def _told(step: Step) -> str:
    return f"{step.current} at {step.at}, of {', '.join(map(str, step.runnable))}"


def count(points: Sequence[int], bound: int) -> int:
    """How many schedules there are, if threads have so many points and never wait.

    Two threads of ``a`` and ``b`` segments (points + 1): sequences of ``r`` and ``s`` runs with
    ``r + s - 2`` preemptions. More threads: counted for small programs, estimated from above for
    large ones.
    """
    segments = tuple(number + 1 for number in points)
    if len(segments) == 2:
        return _of_two(segments[0], segments[1], bound)
    if sum(segments) <= 40:
        return _of_many(segments, None, bound)
    ways = [comb(sum(segments), used) * len(segments) ** used for used in range(bound + 1)]
    return int(factorial(len(segments)) * sum(ways))


def _of_two(a: int, b: int, bound: int) -> int:
    total = 0
    for runs in range(2, bound + 3):
        for r in {runs // 2, (runs + 1) // 2}:
            s = runs - r
            orders = 2 if r == s else 1
            total += orders * comb(a - 1, r - 1) * comb(b - 1, s - 1)
    return total


@cache
def _of_many(left: tuple[int, ...], current: int | None, bound: int) -> int:
    able = [thread for thread, segments in enumerate(left) if segments]
    if not able:
        return 1
    total = 0
    for thread in able:
        cost = int(current in able and thread != current)
        if cost <= bound:
            after = tuple(n - (t == thread) for t, n in enumerate(left))
            total += _of_many(after, thread, bound - cost)
    return total


strategy = Strategy(begin=Exhaustive, ends=True)
