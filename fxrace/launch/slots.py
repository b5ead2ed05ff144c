"""Logical device slots: how many, which hold targets, which drafters, and on what they lie.

A machine with fewer devices, or none, still runs the same threads: slots are dealt round robin
over what there is, and ``oversubscribed`` marks every figure measured that way.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from fxrace.errors import UsageError

DEFAULT_GPUS = 8


@dataclass(frozen=True, kw_only=True, slots=True)
class Slots:
    """One torch device string per target and per drafter, in slot order."""

    targets: tuple[str, ...]
    drafters: tuple[str, ...]
    oversubscribed: bool


def split_of(gpus: int | None, split: str | None) -> tuple[int, int]:
    """(targets, drafters) for ``--gpus N`` and ``--split T:D``; either may be left out.

    Unsplit, three in eight slots are drafters (8 gives 5:3). One slot holds one of each.
    """
    if gpus is not None and gpus < 1:
        raise UsageError(f"--gpus {gpus} is no number of slots", remedy="give 1 or more")
    if split is None:
        count = DEFAULT_GPUS if gpus is None else gpus
        drafters = max(1, round(3 * count / 8))
        return max(1, count - drafters), drafters
    parts = re.fullmatch(r"\s*(\d+)\s*:\s*(\d+)\s*", split)
    if parts is None:
        raise UsageError(f"--split {split!r} is malformed", remedy="write T:D, such as 5:3")
    targets, drafters = int(parts[1]), int(parts[2])
    if not targets or not drafters:
        raise UsageError(f"--split {split} leaves a side empty", remedy="give each at least 1")
    alone = gpus == 1 and (targets, drafters) == (1, 1)
    if gpus is not None and targets + drafters != gpus and not alone:
        raise UsageError(
            f"--split {split} makes {targets + drafters} slots but --gpus is {gpus}",
            remedy="make the two numbers sum to --gpus",
        )
    return targets, drafters


def slots(gpus: int | None, split: str | None, physical: Sequence[str]) -> Slots:
    """Deal the slots over ``physical`` devices (``("cuda:0", ...)`` or ``("cpu",)``)."""
    if not physical:
        raise UsageError("there is no device to put slots on", remedy="use --device cpu")
    targets, drafters = split_of(gpus, split)
    count = 1 if gpus == 1 else targets + drafters
    dealt = [physical[i % len(physical)] for i in range(count)]
    return Slots(
        targets=tuple(dealt[:targets]),
        drafters=tuple(dealt[-drafters:]),
        oversubscribed=len(set(dealt)) < targets + drafters,
    )
