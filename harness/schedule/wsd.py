"""Warm-up, stable, decay: 4 % up, then flat, then the last 20 % straight down to zero."""

from __future__ import annotations

from fxrace.probe.part import Part

WARM, DECAY = 0.04, 0.2


class WarmupStableDecay:
    """The stable part has no memory of the run's length, so a run can be prolonged."""

    def factor(self, step: int, steps: int) -> float:
        warm, decay = int(WARM * steps), int(DECAY * steps)
        up = (step + 1) / warm if step < warm else 1.0
        down = (steps - step) / (decay + 1) if step >= steps - decay else 1.0
        return min(up, down)


part = Part(build=WarmupStableDecay)
