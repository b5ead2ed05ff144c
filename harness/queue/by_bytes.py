"""A queue per drafter, bounded by the bytes it holds and not by their number.

The bound is what the usual number of batches of mean length takes. What is expected next always
fits, however long it is.
"""

from __future__ import annotations

import threading
from typing import Any

from fxrace.probe.part import Part
from harness.channel import Channel
from harness.config import Preset
from harness.figures.memory import batch_bytes


def build(preset: Preset, drafters: int, stop: threading.Event) -> tuple[Channel[Any], ...]:
    sizes = [batch_bytes(preset, context, width=4) for context in preset.contexts]
    budget = preset.queue_depth * sum(sizes) // len(sizes)

    def admits(channel: Channel[Any], position: int, item: Any) -> bool:
        held = sum(one.size_bytes for one in channel.held)
        return position == channel.expected or held + item.size_bytes <= budget

    return tuple(Channel(admits, stop) for _ in range(drafters))


part = Part(build=build)
