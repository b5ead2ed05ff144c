"""Following by ``sys.monitoring``, Python 3.12 and later.

Entries are seen everywhere until the first that is of no interest, which is then switched off
for that code; lines only in the owners' code. Events come from all threads, and points let those
pass that take no part. Tools claim numbers: where all are taken (coverage, a debugger, a
profiler), nothing can be followed, and that is said.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType
from typing import Any

from fxrace.probe.explore.points.followed import Following, Interest, Sight
from fxrace.probe.hooks import Blind

NAME = "fxrace"
#: 0, 1, 2 and 5 are meant for debuggers, coverage, profilers and optimisers.
_NUMBERS = (3, 4, 2, 1, 0, 5)


def follow(sight: Sight) -> tuple[Following, Callable[[], None]]:
    """See ``followed.best``. Raises Blind where every tool number is taken."""
    monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
    tool = _claimed(monitoring)
    events = monitoring.events
    inner = events.LINE | events.PY_RETURN | events.PY_YIELD
    writes, entries = sight.writes, sight.entries

    def started(code: CodeType, offset: int) -> Any:  # noqa: ARG001
        what = sight.interest(code)
        if what is Interest.NONE:
            return monitoring.DISABLE
        if entries is not None:
            entries.entered(code, sys._getframe(1))
        if what is Interest.OWNER and writes is not None:
            writes.entered()
        return None

    def line(code: CodeType, *_: Any) -> None:  # noqa: ARG001
        if writes is not None:
            writes.after_line()

    monitoring.register_callback(tool, events.PY_START, started)
    for event in (events.LINE, events.PY_RETURN, events.PY_YIELD):
        monitoring.register_callback(tool, event, line)
    if entries is not None:
        monitoring.set_events(tool, events.PY_START)

    def watch(code: CodeType) -> None:
        monitoring.set_local_events(tool, code, inner | events.PY_START)

    sight.heard = watch
    for code in sight.owners:
        watch(code)

    def off() -> None:
        monitoring.set_events(tool, 0)
        for code in sight.owners:
            monitoring.set_local_events(tool, code, 0)
        monitoring.free_tool_id(tool)

    return _nothing_per_thread, off


def _claimed(monitoring: Any) -> int:
    for number in _NUMBERS:
        if monitoring.get_tool(number) is None:
            monitoring.use_tool_id(number, NAME)
            return number
    taken = ", ".join(str(monitoring.get_tool(number)) for number in range(6))
    raise Blind(f"every tool of sys.monitoring is taken ({taken}): use --grain region")


@contextmanager
def _nothing_per_thread() -> Iterator[None]:
    yield
