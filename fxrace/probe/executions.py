"""Which calls are known to have run uncompiled, per code and thread, told once at the end.

Counting calls would need a hook on every warm call, which is more than an observer may cost. What
is known without one: a compile that succeeded ran its call compiled; one that was refused at the
recompile limit, or failed while ``suppress_errors`` swallows failures, ran it as it was written.
The surprise: both numbers are lower bounds. Torch does not ask again for a code that it gave up,
so what such a code does later shows only in the number of its cache entries.
"""

from __future__ import annotations

import weakref
from collections import Counter
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

from fxrace.probe.recorder import Recorder


@dataclass(kw_only=True, slots=True)
class _Calls:
    """One code. ``code`` is a weak reference: watching keeps nothing alive."""

    code: weakref.ref[CodeType]
    compiled: Counter[str] = field(default_factory=Counter)
    eager: Counter[str] = field(default_factory=Counter)


class Executions:
    """Counted with ``compile_lock`` held, so without a lock of our own."""

    def __init__(self) -> None:
        self._calls: dict[str, _Calls] = {}

    def seen(self, code: CodeType, thread: str, *, compiled: bool) -> None:
        """A call of this code ran, compiled or not, in this thread."""
        name = f"{code.co_name} ({code.co_filename.rpartition('/')[2]}:{code.co_firstlineno})"
        calls = self._calls.setdefault(name, _Calls(code=weakref.ref(code)))
        (calls.compiled if compiled else calls.eager)[thread] += 1

    def tell(self, recorder: Recorder, entries_of: Any) -> None:
        """One ``executions`` event, if any call at all is known to have run uncompiled."""
        every = list(self._calls.values())
        if not any(calls.eager for calls in every):
            return
        codes = {
            name: {
                "compiled": calls.compiled, "eager": calls.eager,
                "entries": _entries(calls.code(), entries_of),
            }
            for name, calls in self._calls.items()
            if calls.eager
        }  # fmt: skip
        recorder.emit(
            "executions",
            compiled=sum((calls.compiled for calls in every), Counter[str]()),
            eager=sum((calls.eager for calls in every), Counter[str]()),
            codes=codes,
        )


def _entries(code: CodeType | None, entries_of: Any) -> int | None:
    return len(entries_of(code)) if code is not None and entries_of is not None else None
