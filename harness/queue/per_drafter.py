"""A queue per drafter that holds a few batches, in order."""

from __future__ import annotations

import threading
from typing import Any

from fxrace.probe.part import Part
from harness.channel import Channel
from harness.config import Preset


def build(preset: Preset, drafters: int, stop: threading.Event) -> tuple[Channel[Any], ...]:
    return tuple(Channel(preset.queue_depth, stop) for _ in range(drafters))


part = Part(build=build, default=True)
