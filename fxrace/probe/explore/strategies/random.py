"""Any thread that can run, with equal chance, at every choice. Best where points are few."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from fxrace.probe.explore.choices import Chooser, Situation
from fxrace.probe.explore.played import Step
from fxrace.probe.explore.strategies import Setting, Strategy


@dataclass
class Uniform:
    """The chooser of one schedule: equal seeds, equal draws."""

    seed: str
    _random: random.Random = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)

    def __call__(self, situation: Situation) -> int:
        if len(situation.runnable) == 1:
            return situation.runnable[0]
        return self._random.choice(situation.runnable)


class Random:
    """A seed for each schedule."""

    def __init__(self, setting: Setting) -> None:
        self._seed, self._number = setting.seed, 0

    def propose(self) -> Chooser | None:
        self._number += 1
        return Uniform(f"{self._seed}:{self._number}")

    def learn(self, steps: Sequence[Step]) -> str:  # noqa: ARG002 - the contract's shape
        return ""


strategy = Strategy(begin=Random)
