"""How many targets keep how many drafters busy, from FLOPs alone; said before anything runs.

A split far from it leaves one side idle whatever else is right. The prediction assumes that both
sides reach the same share of the peak. For a target's products with weights the peak may be higher
than for everything else (``speed``, as in fp8).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from harness.config import Plan, Preset
from harness.figures import flops
from harness.figures.memory import predicted

MOST_SLOTS = 8


@dataclass(frozen=True, kw_only=True, slots=True)
class Balance:
    """FLOPs of one batch on either side, means over the preset's row lengths; those that run at a
    higher peak count for less.
    """

    target: float
    drafter: float

    @property
    def ratio(self) -> float:
        """Target slots per drafter slot when neither waits."""
        return self.target / self.drafter

    @property
    def split(self) -> tuple[int, int]:
        """The nearest targets : drafters with at most ``MOST_SLOTS`` slots."""
        splits = [
            (targets, slots - targets)
            for slots in range(2, MOST_SLOTS + 1)
            for targets in range(1, slots)
        ]
        return min(splits, key=lambda s: (abs(Fraction(*s) - Fraction(self.ratio)), sum(s)))

    def idle(self, targets: int, drafters: int) -> float:
        """Share of the time for which the quicker side of this split waits, 0 .. 1."""
        supply, demand = targets / self.target, drafters / self.drafter
        return 1 - min(supply, demand) / max(supply, demand)


def balance_of(preset: Preset, speed: float = 1.0) -> Balance:
    """The predicted balance of a preset."""
    lengths = preset.contexts

    def mean(values: Sequence[float]) -> float:
        return sum(values) / len(values)

    def features(context: int) -> float:
        captures = preset.drafter.captures
        products, attention = flops.feature_parts(preset.target, captures, context=context)
        return products / speed + attention

    return Balance(
        target=preset.rows * mean([features(c) for c in lengths]),
        drafter=mean([flops.step_flops(preset, c) for c in lengths]),
    )


def told(plan: Plan, speed: float = 1.0) -> str:
    """What is said at the start of a run: balance of its split, and memory per slot."""
    targets, drafters = len(plan.target_devices), len(plan.drafter_devices)
    width = 4 if plan.device_type == "cpu" else 2
    balance, memory = balance_of(plan.preset, speed), predicted(plan.preset, width=width)
    waiting = "targets" if targets / drafters > balance.ratio else "drafters"
    return (
        f"predicted balance {balance.split[0]}:{balance.split[1]} (target : drafter work per "
        f"batch 1 : {1 / balance.ratio:.2f}); at {targets}:{drafters} the {waiting} wait "
        f"{balance.idle(targets, drafters):.0%} of the time; predicted memory "
        f"{memory.drafter / 1e9:.2g} GB per drafter, {memory.target / 1e9:.2g} GB per target"
    )
