"""What a file in an axis folder declares: the one name every registry folder looks for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


def _runs_everywhere(device_type: str) -> str | None:  # noqa: ARG001 - the contract's shape
    return None


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """One value of an axis.

    ``build`` makes the live part from what its axis passes. ``default=True`` (a literal: it is
    read without importing the file) puts it into a sweep that names no values. ``refuse`` says
    why it cannot run on a device type (``"cpu"``, ``"cuda"``), or returns None.
    """

    build: Callable[..., Any]
    default: bool = False
    refuse: Callable[[str], str | None] = _runs_everywhere
