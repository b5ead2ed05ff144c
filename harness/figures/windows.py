"""A rate over windows of time, so that it comes with a median and an interval.

One figure over a whole run hides that a machine had a slow half. Windows are of equal length in
time during which any counted step ran; a step that lies in two of them counts in both, by share.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from statistics import median
from typing import Any

from harness.roles import Turn

MOST = 20
CONFIDENCE = 0.95


def covered(spans: Iterable[tuple[float, float]]) -> float:
    """Seconds covered by at least one of these spans."""
    return sum(ended - began for began, ended in merged(spans))


def merged(spans: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """The same seconds as spans that do not meet, in order."""
    out: list[tuple[float, float]] = []
    for began, ended in sorted(spans):
        if out and began <= out[-1][1]:
            out[-1] = (out[-1][0], max(out[-1][1], ended))
        else:
            out.append((began, ended))
    return out


def windows(turns: Sequence[Turn]) -> dict[str, Any] | None:
    """Draft slots per second: ``median``, ``low`` and ``high`` (95 % interval of the median, by
    order statistics; the range where there are fewer than six), ``n`` windows, ``window_s`` each.

    None with fewer than four steps.
    """
    count = min(MOST, len(turns) // 2)
    if count < 2:
        return None
    busy = merged((turn.began_s, turn.ended_s) for turn in turns)
    length = sum(ended - began for began, ended in busy) / count
    edges = [_at(busy, number * length) for number in range(count)] + [busy[-1][1]]
    rates = sorted(
        sum(_share(turn, low, high) for turn in turns) / length for low, high in pairwise(edges)
    )
    cut = _cut(count)
    return {
        "median": median(rates),
        "low": rates[cut],
        "high": rates[-1 - cut],
        "n": count,
        "window_s": length,
    }


def _at(busy: Sequence[tuple[float, float]], seconds: float) -> float:
    """The moment by which so much of the busy time has passed."""
    for began, ended in busy:
        if seconds < ended - began:
            return began + seconds
        seconds -= ended - began
    return busy[-1][1]


def _share(turn: Turn, low: float, high: float) -> float:
    overlap = min(turn.ended_s, high) - max(turn.began_s, low)
    length = turn.ended_s - turn.began_s
    return turn.slots * max(0.0, overlap) / length if length else 0.0


def _cut(count: int) -> int:
    """How many of the lowest and highest of ``count`` values lie outside the interval."""
    cut, below = 0, 0.0
    while True:
        below += math.comb(count, cut) / 2**count
        if 2 * below > 1 - CONFIDENCE:
            return cut
        cut += 1
