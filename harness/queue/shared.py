"""One bound for all drafters together: the slowest of them can make the others wait.

Batches keep their drafter, so that a run computes the same numbers however it is scheduled; what
is shared is the room. The window begins at the oldest batch of any drafter that is still needed.
"""

from __future__ import annotations

import threading
from typing import Any

from fxrace.probe.part import Part
from harness.channel import Channel
from harness.config import Preset


class Room:
    """A window over the numbers of all batches, ``step * drafters + drafter``."""

    def __init__(self, window: int) -> None:
        self._window = window
        self.channels: tuple[Channel[Any], ...] = ()

    def admits(self, channel: Channel[Any], position: int, _item: Any) -> bool:
        count = len(self.channels)
        needed = [
            one.expected * count + index
            for index, one in enumerate(self.channels)
            if not one.finished
        ]
        number = position * count + self.channels.index(channel)
        return not needed or number < min(needed) + self._window


def build(preset: Preset, drafters: int, stop: threading.Event) -> tuple[Channel[Any], ...]:
    room, changed = Room(preset.queue_depth * drafters), threading.Condition()
    room.channels = tuple(Channel(room.admits, stop, changed=changed) for _ in range(drafters))
    return room.channels


part = Part(build=build)
