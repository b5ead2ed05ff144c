"""Like random, but a thread goes on more often than not: few long slices. For long programs."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from fxrace.probe.explore.choices import Chooser, Situation
from fxrace.probe.explore.played import Step
from fxrace.probe.explore.strategies import Setting, Strategy

LEAVES = (0.1, 0.3)


@dataclass
class Sticky:
    """The chooser of one schedule: leaves the current thread with this chance."""

    seed: str
    leaves: float
    _random: random.Random = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)

    def __call__(self, situation: Situation) -> int:
        others = [thread for thread in situation.runnable if thread != situation.current]
        if situation.current not in situation.runnable:
            return self._random.choice(situation.runnable)
        if others and self._random.random() < self.leaves:
            return self._random.choice(others)
        return situation.current


class Search:
    """A seed for each schedule; the chances alternate."""

    def __init__(self, setting: Setting) -> None:
        self._seed, self._number = setting.seed, 0

    def propose(self) -> Chooser | None:
        self._number += 1
        return Sticky(f"{self._seed}:{self._number}", LEAVES[self._number % len(LEAVES)])

    def learn(self, steps: Sequence[Step]) -> str:  # noqa: ARG002 - the contract's shape
        return ""


strategy = Strategy(begin=Search)
