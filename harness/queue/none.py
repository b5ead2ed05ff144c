"""No queue: a target begins a batch when its drafter asks for it, and nothing overlaps."""

from __future__ import annotations

import threading
from typing import Any

from fxrace.probe.part import Part
from harness.channel import Channel
from harness.config import Preset


def build(
    preset: Preset,  # noqa: ARG001 - there is no depth
    drafters: int,
    stop: threading.Event,
) -> tuple[Channel[Any], ...]:
    return tuple(Channel(_asked_for, stop, on_request=True) for _ in range(drafters))


def _asked_for(channel: Channel[Any], position: int, _item: Any) -> bool:
    return channel.asking and position == channel.expected


part = Part(build=build)
