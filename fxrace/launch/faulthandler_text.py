"""Reads the text that ``faulthandler`` writes: one block per thread, innermost frame first."""

from __future__ import annotations

import re

from fxrace.records.finding import Frame
from fxrace.records.outcome import ThreadStack

_THREAD = re.compile(r"^(Current thread|Thread) 0x([0-9a-f]+)(?: \[(.*?)\])?.*:$")
_FRAME = re.compile(r'^  File "(.*)", line (\d+|\?\?\?) in (.*)$')


def parse(text: str) -> tuple[ThreadStack, ...]:
    """Every thread block in order, but first the one in which it happened; frames turned so that
    the innermost is last.

    Lines that are neither thread nor frame (the name of a signal, extension modules) end the
    block they follow. A thread that appears twice (asked, then crashed) counts as last seen.
    """
    found: dict[int, tuple[str, list[Frame]]] = {}
    frames: list[Frame] | None = None
    current = None
    for line in text.splitlines():
        if thread := _THREAD.match(line):
            ident, frames = int(thread[2], 16), []
            current = ident if thread[1].startswith("Current") else current
            found.pop(ident, None)
            found[ident] = (thread[3] or f"thread {ident:#x}", frames)
        elif frames is not None and (frame := _FRAME.match(line)):
            number = int(frame[2]) if frame[2].isdigit() else 0
            frames.insert(0, Frame(file=frame[1], line=number, function=frame[3]))
        elif not line.startswith("  "):
            frames = None
    return tuple(
        ThreadStack(thread=name, ident=ident, frames=tuple(stack), source="faulthandler")
        for ident, (name, stack) in sorted(found.items(), key=lambda item: item[0] != current)
    )
