"""Linear warm-up over the first 4 % of the steps, then half a cosine down to zero."""

from __future__ import annotations

import math

from fxrace.probe.part import Part

WARM = 0.04


class Cosine:
    """Never zero in the first step: a run of few steps has no room for a warm-up."""

    def factor(self, step: int, steps: int) -> float:
        warm = int(WARM * steps)
        if step < warm:
            return (step + 1) / warm
        return 0.5 * (1 + math.cos(math.pi * (step - warm) / max(1, steps - warm)))


part = Part(build=Cosine, default=True)
