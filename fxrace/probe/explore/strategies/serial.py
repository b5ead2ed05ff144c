"""One thread after the other, in every order: the reference, and proof that alone is well."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

from fxrace.probe.explore.choices import Chooser, InOrder
from fxrace.probe.explore.played import Step
from fxrace.probe.explore.strategies import Setting, Strategy


class Serial:
    """``n!`` orders."""

    def __init__(self, setting: Setting) -> None:
        self._orders = permutations(range(setting.threads))

    def propose(self) -> Chooser | None:
        order = next(self._orders, None)
        return None if order is None else InOrder(order)

    def learn(self, steps: Sequence[Step]) -> str:  # noqa: ARG002 - the contract's shape
        return ""


strategy = Strategy(begin=Serial, ends=True)
