"""Uncertainty of rates and of measured quantities."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

from fxrace.records.tally import Spread, Tally

Z_95 = 1.959963984540054


def wilson(k: int, n: int) -> Tally:
    """k of n with its 95 % Wilson score interval (E. B. Wilson, 1927); n = 0 gives [0, 1]."""
    if not 0 <= k <= n:
        raise ValueError(f"{k} of {n} is no rate")
    if n == 0:
        return Tally(k=0, n=0, low=0.0, high=1.0)
    share, squared = k / n, Z_95**2
    centre = share + squared / (2 * n)
    reach = Z_95 * math.sqrt(share * (1 - share) / n + squared / (4 * n * n))
    scale = 1 + squared / n
    low = 0.0 if k == 0 else max(0.0, (centre - reach) / scale)
    high = 1.0 if k == n else min(1.0, (centre + reach) / scale)
    return Tally(k=k, n=n, low=round(low, 4), high=round(high, 4))


def spread(values: Sequence[float]) -> Spread | None:
    """Median and range of the values; None for none."""
    if not values:
        return None
    return Spread(median=median(values), low=min(values), high=max(values), n=len(values))
