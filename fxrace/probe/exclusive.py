"""``with fxrace.exclusive("name"):`` asserts that no second thread is in there at the same time.

For authors who rely on a lock elsewhere and want to know that it holds. ``name`` is free; the
name of a State (``fx.patcher``) or a kind of region (``trace``) also asserts that no other
thread is in such a region meanwhile. It never blocks and never raises: what it sees becomes a
finding of ``fxrace run`` or ``fxrace.watch``; when neither watches it costs two dictionary
operations. The surprise: the same thread may enter twice.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from fxrace.core.states import by_name
from fxrace.probe.recorder import Recorder
from fxrace.probe.regions import Regions
from fxrace.stacks import frames_now, stack_of

KIND = "exclusive"

_inside: dict[str, dict[int, str]] = {}
_regions: Regions | None = None
_recorder: Recorder | None = None


def watch_with(regions: Regions | None, recorder: Recorder | None) -> None:
    """Make these the ones that collisions are told to."""
    global _regions, _recorder
    _regions, _recorder = regions, recorder


@contextmanager
def exclusive(name: str) -> Iterator[None]:
    """Only this thread is in ``name`` for the length of the block, or a finding says who was."""
    me = threading.get_ident()
    present = _inside.setdefault(name, {})
    if me in present or _regions is None:
        yield
        return
    here = sys._getframe(2)
    present[me] = threading.current_thread().name
    try:
        _tell(name, here, _beside(present, me))
        with _regions.region(KIND, name):
            yield
            _tell(name, here, _in_regions(name))
    finally:
        present.pop(me, None)


def _beside(present: dict[int, str], me: int) -> list[dict[str, Any]]:
    frames = frames_now()
    return [
        {"thread": thread, "region": KIND, "frames": stack_of(frames.get(ident))}
        for ident, thread in list(present.items())
        if ident != me
    ]


def _in_regions(name: str) -> list[dict[str, Any]]:
    """Who is, or was meanwhile, in a region that this name speaks of."""
    state = by_name(name)
    kinds = {name, state.borrowed_by} if state else {name}
    others = _regions.others() if _regions is not None else []
    return [other for other in others if other["region"] in kinds]


def _tell(name: str, here: FrameType, others: list[dict[str, Any]]) -> None:
    if others and _recorder is not None:
        _recorder.emit(KIND, name=name, frames=stack_of(here), others=others)
