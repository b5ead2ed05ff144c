"""Probabilistic concurrency testing: priorities, lowered at a few random steps.

A bug that needs ``d`` ordered events is found by one schedule with a chance of at least
``1 / (n * k ** (d - 1))``, for ``n`` threads and ``k`` steps (Burckhardt et al., 2010). The
depths 3, 4, 5 take turns.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from fxrace.probe.explore.choices import Chooser, Situation
from fxrace.probe.explore.played import Step
from fxrace.probe.explore.strategies import Setting, Strategy

DEPTHS = (3, 4, 5)


@dataclass
class Priorities:
    """The chooser of one schedule. High numbers go first; a changed one drops below all others.

    ``changes[i]`` is the step at which the thread that would run drops to priority ``-i``.
    """

    priorities: dict[int, int]
    changes: tuple[int, ...]
    _dropped: int = field(default=0, repr=False)

    def __call__(self, situation: Situation) -> int:
        for _ in range(self.changes.count(situation.step)):
            first = max(situation.runnable, key=self.priorities.__getitem__)
            self._dropped += 1
            self.priorities[first] = -self._dropped
        return max(situation.runnable, key=self.priorities.__getitem__)


def priorities(seed: str, *, threads: int, steps: int, depth: int) -> Priorities:
    """Drawn as the algorithm says: an order of threads, and ``depth - 1`` steps of change."""
    draw = random.Random(seed)
    order = list(range(1, threads + 1))
    draw.shuffle(order)
    changes = tuple(sorted(draw.randint(1, max(1, steps)) for _ in range(depth - 1)))
    return Priorities(priorities=dict(enumerate(order)), changes=changes)


class Pct:
    """A seed for each schedule; the depths take turns."""

    def __init__(self, setting: Setting) -> None:
        self._setting, self._number = setting, 0

    def propose(self) -> Chooser | None:
        self._number += 1
        return priorities(
            f"{self._setting.seed}:{self._number}",
            threads=self._setting.threads,
            steps=sum(self._setting.points) + self._setting.threads,
            depth=DEPTHS[self._number % len(DEPTHS)],
        )

    def learn(self, steps: Sequence[Step]) -> str:  # noqa: ARG002 - the contract's shape
        return ""


strategy = Strategy(begin=Pct)
