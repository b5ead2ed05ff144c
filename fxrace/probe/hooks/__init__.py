"""Where a program is watched. One family per file; the folder is the registry.

Each module has ``KNOWN`` (which torch it was read against), ``attach(watching) -> detach`` and,
where a family costs something, ``wanted(watching) -> bool``; with ``AFTER``, the name of a module,
it is attached when that is imported. Attaching raises ``Blind`` with the
reason where this torch hides the place: the trial then says so instead of passing for clean. It
raises ``Absent`` where the thing itself is not here (no Triton, no CUDA): what is not here cannot
race, so that is a note. Nothing here runs on a warm compiled call, except ``compiled_calls``,
which is wanted only when a pressure listens. Files that begin with an underscore are no family.

The surprise: torch looks most of its functions up in their module on every call, so replacing an
attribute reaches callers made before; each family says where that does not hold.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Detach = Callable[[], None]


class Blind(Exception):
    """This hook family cannot attach to this torch. The text is the reason."""


class Absent(Blind):
    """What this family watches is not in this torch or on this machine, so it cannot race."""


def replaced(holder: Any, name: str, value: Any) -> Detach:
    """Set an attribute of a module or class; the result puts back what was there, as it was.

    Read from the holder's own dictionary, so that a static method comes back as one.
    """
    kept = vars(holder)[name]
    setattr(holder, name, value)

    def detach() -> None:
        setattr(holder, name, kept)

    return detach


def in_reverse(*detaches: Detach) -> Detach:
    """One detach that undoes the last first."""

    def detach() -> None:
        for one in reversed(detaches):
            one()

    return detach
