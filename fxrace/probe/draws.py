"""Checkpoints of several threads on one random generator: whose draws fell into whose.

A checkpoint saves the state of the process's CPU generator at its forward and sets it back for its
recompute. If another thread draws in between, or restores a state of its own, the recompute draws
other numbers than the forward did, and the gradient is wrong in silence. Evidence, without a hook
on any draw: the state where the forward ended against where the recompute ended, a checksum of
what was saved against what was recomputed, and who else had a checkpoint open meanwhile.

The surprise: the checksum reads memory, because any operation on a tensor might be traced. A
tensor on a GPU has none, since reading it would wait for the device.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

from fxrace.probe.recorder import Recorder
from fxrace.stacks import frames_now, stack_of

MET_KEPT, TOLD_KEPT, SAMPLE_BYTES = 4, 8, 4096
FORWARD, BESIDE = "checkpoint", "call"

Met = dict[str, Any]


@dataclass(kw_only=True, slots=True, eq=False)
class Window:
    """One forward or recompute of a checkpoint, and who had one open meanwhile (``met``).

    ``ended`` and ``again`` are the generator's state where the forward and where its recompute
    ended, None where it could not be read; ``met_again`` is whom the recompute met.
    """

    kind: str
    name: str
    thread: str
    met: list[Met] = field(default_factory=list)
    met_again: tuple[Met, ...] = ()
    ended: int | None = None
    again: int | None = None
    outputs: tuple[int | None, ...] = ()


class Draws:
    """Open windows by thread; a thread's own list is only written by that thread."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._open: dict[int, list[Window]] = {}
        self._told: set[tuple[object, ...]] = set()

    @contextmanager
    def window(self, kind: str, name: str) -> Iterator[Window]:
        """The current thread has saved the generator's state, or has set it back."""
        me = threading.get_ident()
        own = Window(kind=kind, name=name, thread=threading.current_thread().name)
        self._meet(me, own, sys._getframe(2))
        mine = self._open.setdefault(me, [])
        mine.append(own)
        try:
            yield own
            own.ended = state() if kind == FORWARD else None
        finally:
            mine.remove(own)

    def ended(self, forward: Window) -> None:
        """The current thread has computed again what this forward computed."""
        mine = self._open.get(threading.get_ident())
        forward.again, forward.met_again = state(), tuple(mine[-1].met if mine else ())

    def compare(self, forward: Window, *, differ: bool) -> None:
        """Tell it if forward or recompute were disturbed. ``differ``: so do their results."""
        if None in (forward.ended, forward.again) or forward.ended == forward.again:
            return
        others = [*forward.met, *forward.met_again]
        if differ and not others:
            others = _beside(threading.get_ident())
        key = (forward.name, differ, *((other["thread"], other["region"]) for other in others[:1]))
        if others and key not in self._told and len(self._told) < TOLD_KEPT:
            self._told.add(key)
            self._recorder.emit(
                "rng", name=forward.name, differ=differ, frames=stack_of(sys._getframe(1)),
                others=others[:MET_KEPT],
            )  # fmt: skip

    def _meet(self, me: int, own: Window, frame: Any) -> None:
        beside = [(i, open_[-1]) for i, open_ in list(self._open.items()) if i != me and open_]
        if not beside:
            return
        frames, mine = frames_now(), stack_of(frame)
        for ident, other in beside:
            there = {"thread": other.thread, "region": other.kind}
            own.met.append({**there, "frames": stack_of(frames.get(ident))})
            here = {"thread": own.thread, "region": own.kind, "frames": mine}
            other.met[:] = [here, *other.met][:MET_KEPT]


class Sampled:
    """Torch's own description of a saved tensor, with a checksum of what the tensor holds.

    Torch compares two of these after a recompute: equal is what it says is equal, and ``differs``
    is called where the checksums are not.
    """

    __slots__ = ("_differs", "_sample", "_value")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: Any, tensor: Any, differs: Callable[[], None]) -> None:
        self._value, self._sample, self._differs = value, sample(tensor), differs

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sampled):
            return bool(self._value == other)
        if None not in (self._sample, other._sample) and self._sample != other._sample:
            self._differs()
        return bool(self._value == other._value)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __repr__(self) -> str:
        return repr(self._value)


def several_threads() -> bool:
    """True when another thread could draw at all. Takes no lock."""
    return len(threading._active) > 1  # type: ignore[attr-defined]


def state() -> int | None:
    """The CPU generator's state in short; None while something traces."""
    import torch

    if torch._C._len_torch_dispatch_stack():
        return None
    return sample(torch.default_generator.get_state())


def sample(tensor: Any) -> int | None:
    """A checksum of a plain CPU tensor's first and last bytes; None for any other."""
    import torch

    if type(tensor) not in (torch.Tensor, torch.nn.Parameter) or tensor.device.type != "cpu":
        return None
    try:
        if not tensor.is_contiguous():
            return None
        size, start = tensor.numel() * tensor.element_size(), tensor.data_ptr()
    except RuntimeError:  # a wrapper that has no memory of its own
        return None
    if not start or not size:
        return None
    first = crc32(ctypes.string_at(start, min(size, SAMPLE_BYTES)))
    if size <= SAMPLE_BYTES:
        return first
    return crc32(ctypes.string_at(start + size - SAMPLE_BYTES, SAMPLE_BYTES), first)


def _beside(me: int) -> list[Met]:
    """Nobody's checkpoint was in the way: the threads that are there and may have drawn.

    The oldest come first, so that a program with many idle ones still names its main thread.
    """
    names = {thread.ident: thread.name for thread in list(threading._active.values())}  # type: ignore[attr-defined]
    frames = frames_now()
    return [
        {"thread": name, "region": BESIDE, "frames": stack_of(frames[ident])}
        for ident, name in names.items()
        if ident != me and ident in frames
    ]
