"""The registry of process-wide State in torch that tracing and compiling borrow.

The data is in ``state_rows``, one row per State. ``surfaces`` are the places (``file:function``
suffixes) where another thread's collision with it comes to light: attribution goes by the raising
frame, never by the text of an exception, because one State shows up as many texts.
"""

from __future__ import annotations

from fxrace.core.state_rows import compilers, dynamo, front, fx
from fxrace.records.state import State

STATES: tuple[State, ...] = (*fx.ROWS, *dynamo.ROWS, *compilers.ROWS, *front.ROWS)


def surfaced_at(file: str, function: str) -> State | None:
    """The State whose collisions come to light in this function, or None."""
    place = f"{file.replace(chr(92), '/')}:{function.rsplit('.', 1)[-1]}"
    for state in STATES:
        if any(place.endswith(surface) for surface in state.surfaces):
            return state
    return None


def by_name(name: str) -> State | None:
    """The row of this name, or None."""
    return next((state for state in STATES if state.name == name), None)
