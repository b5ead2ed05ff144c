"""Where drafters' threads meet to add up tensors: at a barrier, or through one coordinator.

Sums are taken in rank order, so every drafter gets the same bits whoever comes last. Every wait
looks at the stop flag: a drafter that dies leaves nobody standing here.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from fxrace.probe.participants import participants
from harness.channel import Stopped

LOOK_S = 1.0
NAME = "coordinator"


class Meeting(Protocol):
    """``add`` replaces each tensor by its sum over all members; ``wake`` after a stop."""

    def add(self, rank: int, tensors: Sequence[Tensor]) -> None: ...

    def wake(self) -> None: ...


def add_up(brought: Sequence[Sequence[Tensor]]) -> None:
    """Each tensor of each member becomes the sum over members, in rank order, in place."""
    with torch.no_grad():
        for column in zip(*brought, strict=True):
            total = column[0].clone()
            for other in column[1:]:
                total += other.to(total.device)
            for mine in column:
                mine.copy_(total)


class Rounds:
    """Everybody brings something, everybody gets everything, round after round."""

    def __init__(self, members: int, stop: threading.Event) -> None:
        self._members, self._stop = members, stop
        self._changed = threading.Condition()
        self._coming: dict[int, Any] = {}
        self._all: tuple[Any, ...] = ()
        self._round = 0

    def gather(self, rank: int, mine: Any) -> tuple[Any, ...]:
        """What all members brought, by rank. Raises Stopped when the trial is being stopped."""
        with self._changed:
            number = self._round
            self._coming[rank] = mine
            if len(self._coming) == self._members:
                self._all = tuple(self._coming[rank] for rank in sorted(self._coming))
                self._coming = {}
                self._round += 1
                self._changed.notify_all()
                return self._all
            with participants.waiting("the other drafters"):
                while self._round == number:
                    if self._stop.is_set():
                        raise Stopped
                    self._changed.wait(LOOK_S)
            # Nobody can finish the next round without this thread, so this is still that round's.
            return self._all

    def wake(self) -> None:
        """Make everybody who waits look at the stop flag."""
        with self._changed:
            self._changed.notify_all()


class AtBarrier:
    """Every member adds for itself, on its own device."""

    def __init__(self, members: int, stop: threading.Event) -> None:
        self._rounds = Rounds(members, stop)
        self.wake = self._rounds.wake

    def add(self, rank: int, tensors: Sequence[Tensor]) -> None:
        brought = self._rounds.gather(rank, (tensors, _mark(tensors)))
        for _, event in brought:
            _after(event, tensors)
        with torch.no_grad():
            columns = zip(*(item for item, _ in brought), strict=True)
            sums = [
                _sum(column, mine.device) for column, mine in zip(columns, tensors, strict=True)
            ]
        # Nobody may overwrite its tensors before all have read them.
        for event in self._rounds.gather(rank, _mark(tensors)):
            _after(event, tensors)
        with torch.no_grad():
            torch._foreach_copy_(list(tensors), sums)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Asked:
    rank: int
    tensors: Sequence[Tensor]
    event: Any


class Coordinated:
    """One thread, which runs ``serve``, adds for all."""

    def __init__(self, members: int, stop: threading.Event) -> None:
        self._members, self._stop = members, stop
        self._changed = threading.Condition()
        self._asked: list[_Asked] = []
        self._served = 0
        self._events: list[Any] = []
        self._closed = False

    def add(self, rank: int, tensors: Sequence[Tensor]) -> None:
        with self._changed, participants.waiting(NAME):
            number = self._served
            self._asked.append(_Asked(rank=rank, tensors=tensors, event=_mark(tensors)))
            self._changed.notify_all()
            while self._served == number:
                self._look()
        for event in self._events:
            _after(event, tensors)

    def serve(self) -> None:
        """Add up round after round until ``close``; the coordinator's whole work."""
        while True:
            with self._changed:
                while len(self._asked) < self._members:
                    if self._closed:
                        return
                    self._look()
                asked = sorted(self._asked, key=lambda one: one.rank)
                self._asked = []
            events = _together(asked)
            with self._changed:
                self._events = events
                self._served += 1
                self._changed.notify_all()

    def close(self) -> None:
        """Nobody will ask again."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def wake(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def _look(self) -> None:
        if self._stop.is_set():
            raise Stopped
        self._changed.wait(LOOK_S)


def _together(asked: Sequence[_Asked]) -> list[Any]:
    """Add up in place; the events after which the sums are there."""
    devices = [one.tensors[0].device for one in asked]
    apart = devices[0].type == "cuda" and len(set(devices)) == len(devices)
    for one, device in zip(asked, devices, strict=True):
        for other in asked if not apart else (one,):
            _after(other.event, one.tensors, device)
    brought = [one.tensors for one in asked]
    if apart:
        for column in zip(*brought, strict=True):
            torch.cuda.nccl.all_reduce(column)
    else:
        add_up(brought)
    return [_mark(one.tensors) for one in asked]


def _sum(column: Sequence[Tensor], device: torch.device) -> Tensor:
    """In rank order, on ``device``."""
    total = column[0].to(device, copy=True)
    for other in column[1:]:
        total += other.to(device)
    return total


def _mark(tensors: Sequence[Tensor]) -> Any:
    """A CUDA event after everything queued so far on the tensors' device; None on the CPU."""
    device = tensors[0].device
    if device.type != "cuda":
        return None
    event = torch.cuda.Event()
    event.record(torch.cuda.current_stream(device))
    return event


def _after(event: Any, tensors: Sequence[Tensor], device: Any = None) -> None:
    """Whatever is queued next for the tensors' device comes after ``event``."""
    if event is not None:
        torch.cuda.current_stream(device or tensors[0].device).wait_event(event)
