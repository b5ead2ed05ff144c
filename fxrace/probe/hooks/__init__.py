"""Where a trial looks into torch. One family per file; the folder is the registry.

Each module has ``attach(regions) -> detach``. Attaching raises ``Blind`` with the reason where
this torch has no such place; the trial then says so instead of passing for clean. Nothing here
runs on a warm compiled call, except ``compiled_calls``, which is attached only when a pressure
listens for it.
"""

from __future__ import annotations

from collections.abc import Callable

Detach = Callable[[], None]


class Blind(Exception):
    """This hook family cannot attach to this torch. The text is the reason."""
