"""One participant of a schedule, as the baton keeps it, and what can be told of several.

Changed under the baton's mutex only.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from enum import Enum, auto
from pathlib import Path
from types import FrameType

from fxrace.probe.explore.played import Stack
from fxrace.probe.explore.standing import Standing
from fxrace.stacks import stack_of

START = "start#0"
_HERE = str(Path(__file__).parents[1])


class Is(Enum):
    NEW = auto()
    READY = auto()
    RUNNING = auto()
    BLOCKED = auto()
    PASSED = auto()
    ENDED = auto()


class Participant:
    """``gate`` is shut while it stands; ``owner`` is who has the lock that it waits for."""

    def __init__(self, number: int, name: str) -> None:
        self.number, self.name = number, name
        self.ident = self.native_id = 0
        self.gate = threading.Lock()
        self.gate.acquire()
        self.state = Is.NEW
        self.at = START
        self.lock, self.patient = "", True
        self.owner: int | None = None
        self.visits: Counter[str] = Counter()
        self.busy_here = False
        self.standing: Standing | None = None

    @property
    def looks_stood(self) -> int:
        """At how many looks in a row it was seen to stand."""
        return 0 if self.standing is None else self.standing.looks

    def moved(self) -> None:
        """It was seen to move: looks begin anew."""
        if self.standing is not None:
            self.standing.reset()


def circle_of(participants: Sequence[Participant]) -> tuple[str, ...]:
    """``A waits for <lock> held by B`` for each link of a circle; nothing where there is none.

    A lock whose holder has ended with it in hand is told too: nobody will ever give it up.
    """
    for start in participants:
        links: list[str] = []
        seen: set[int] = set()
        one = start
        while one.owner is not None and one.number not in seen:
            seen.add(one.number)
            owner = participants[one.owner]
            gone = ", which has ended" if owner.state is Is.ENDED else ""
            links.append(f"{one.name} waits for {one.lock} held by {owner.name}{gone}")
            one = owner
        if links and (one is start or one.state is Is.ENDED):
            return tuple(links)
    return ()


def stack(frame: FrameType | None) -> Stack:
    """Innermost last, without the frames of hooks and of the explorer."""
    return tuple(
        (str(file), int(line), str(name))
        for file, line, name in stack_of(frame)
        if not str(file).startswith(_HERE)
    )
