"""How long a drafter's GPU stood still until the features existed that it had been handed.

A target's host runs ahead: it hands features over when their kernels are launched, not when they
are done. What is waited for then passes inside a step, on the device, where no clock of the host
sees it; without this a run that is short of targets would look short of drafters.
"""

from __future__ import annotations

from typing import Any

import torch


class Stall:
    """One drafter's, used again in every step. On the CPU there is nothing to wait for."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._events: tuple[Any, Any] | None = None
        self._aside: Any = None
        self._waits = False

    def begin(self, ready: Any) -> None:
        """The drafter's stream waits for this event from here on; for nothing if it is None."""
        self._waits = ready is not None and self._device.type == "cuda"
        if not self._waits:
            return
        if self._events is None:
            self._events = tuple(torch.cuda.Event(enable_timing=True) for _ in range(2))
            self._aside = torch.cuda.Stream(self._device)
        # Aside: targets may have work in the drafter's own stream, where their device is the same.
        self._events[0].record(self._aside)
        stream = torch.cuda.current_stream(self._device)
        stream.wait_event(ready)
        self._events[1].record(stream)

    def seconds(self) -> float:
        """How long that took; 0 while the drafter's stream has not passed it and none can tell."""
        if not self._waits or self._events is None or not self._events[1].query():
            return 0.0
        return max(0.0, float(self._events[0].elapsed_time(self._events[1]))) / 1e3
