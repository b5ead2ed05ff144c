"""Gates before real locks, so that waiting for another participant is known and no slip.

A gate tries the real lock without waiting. If another participant has it, the baton marks this
thread blocked and runs somebody else, until the owner gives it up. If anybody else has it, the
thread waits for the real lock as it would have. The real lock always decides; the gate only
keeps count of who of us is inside.
"""

from __future__ import annotations

import sys
from typing import Any

from fxrace.probe.explore.baton import Baton
from fxrace.probe.explore.current import Current
from fxrace.probe.first_import import when_imported
from fxrace.probe.hooks import Detach, in_reverse, replaced

COMPILE_LOCK, _MODULE = "compile_lock", "torch._dynamo.convert_frame"


class Gate:
    """Stands in for one lock object. Works with or without a schedule running."""

    def __init__(self, real: Any, name: str, current: Current) -> None:
        self._real, self._name, self._current = real, name, current
        self._inside: list[int] = []

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:  # noqa: FBT001, FBT002
        baton = self._current.baton
        me = None if baton is None else baton.number()
        if baton is None or me is None:
            return bool(self._real.acquire(blocking, timeout))
        outermost = me not in self._inside
        if outermost:
            baton.reach(f"{self._name}:acquire")
        if not self._get(baton, blocking, timeout):
            return False
        self._inside.append(me)
        return True

    def _get(self, baton: Baton, blocking: bool, timeout: float) -> bool:  # noqa: FBT001
        while not self._real.acquire(False):
            if not blocking:
                return False
            if not self._inside:
                return bool(self._real.acquire(True, timeout))
            if not baton.block(self._name, self._inside[-1], patient=timeout < 0):
                return False
        return True

    def release(self) -> None:
        baton = self._current.baton
        me = None if baton is None else baton.number()
        self._real.release()
        if baton is None or me is None or me not in self._inside:
            return
        self._inside.remove(me)
        if me not in self._inside:
            baton.unblock(self._name)
            baton.reach(f"{self._name}:release")

    def clear(self) -> None:
        """A new schedule begins: nobody of it is inside yet."""
        self._inside.clear()

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *exc: object) -> None:
        self.release()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


def attach(current: Current) -> Detach:
    """A gate before Dynamo's ``compile_lock``, which every user looks up on every use.

    Put there when its module is imported, which may be never.
    """
    undo: list[Detach] = []

    def put() -> None:
        convert: Any = sys.modules[_MODULE]
        real = getattr(convert, COMPILE_LOCK, None)
        if real is not None:
            undo.append(replaced(convert, COMPILE_LOCK, Gate(real, COMPILE_LOCK, current)))

    undo.append(when_imported(_MODULE, put))
    return lambda: in_reverse(*undo)()
