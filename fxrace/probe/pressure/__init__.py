"""How hard a trial is pushed towards a collision. One file per value.

A pressure part is built with ``build(seed)`` and gets three calls from the region hooks:
``inside(thread_region)`` while the thread has the region's States borrowed, ``left(region)``
after it gave them back, and ``called()`` when any thread enters a compiled function (only if
``listens`` is True: hearing it costs a hook on the warm path).
"""

from __future__ import annotations

from typing import Protocol

AXIS = "how hard a trial is pushed towards a collision"


class Pressure(Protocol):
    """What the region hooks talk to. ``region`` is ``"trace"`` or ``"compile"``."""

    listens: bool

    def start(self) -> None: ...

    def inside(self, region: str) -> None: ...

    def left(self, region: str) -> None: ...

    def called(self) -> None: ...

    def stop(self) -> None: ...
