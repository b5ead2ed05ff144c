"""Following by ``sys.settrace``: Python before 3.12, and wherever a test asks for it.

Per thread, so nobody but participants is slowed. A debugger or coverage tool that traces the
same thread loses it for the length of the body, and gets it back.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from fxrace.probe.explore.points.followed import Following, Interest, Sight


def follow(sight: Sight) -> tuple[Following, Callable[[], None]]:
    """See ``followed.best``."""
    writes, entries, interest = sight.writes, sight.entries, sight.interest
    ignored = sight.ignored

    def line(frame: FrameType, event: str, argument: Any) -> Any:  # noqa: ARG001
        if writes is not None:
            writes.after_line()
        return line

    def entered(frame: FrameType, event: str, argument: Any) -> Any:  # noqa: ARG001
        code = frame.f_code
        if id(code) in ignored:
            return None
        what = interest(code)
        if what is Interest.NONE:
            return None
        if entries is not None:
            entries.entered(code, frame)
        if what is Interest.ENTRY or writes is None:
            return None
        writes.entered()
        return line

    @contextmanager
    def following() -> Iterator[None]:
        before = sys.gettrace()
        sys.settrace(entered)
        try:
            yield
        finally:
            sys.settrace(before)

    return following, lambda: None
