"""A rate that never travels without its counts and its uncertainty."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Tally:
    """k of n with a 95 % Wilson interval. Build with ``fxrace.core.interval.wilson``."""

    k: int
    n: int
    low: float
    high: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Spread:
    """A measured quantity over n trials: median and range."""

    median: float
    low: float
    high: float
    n: int
