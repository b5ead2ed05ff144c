"""Reads from stacks alone what each thread stands before, and which of torch's locks it holds.

Python's locks are taken in C and leave no frame, but who takes them does: a thread whose innermost
frame is the function with ``with compile_lock`` in it waits for that lock, a thread that is deeper
inside the same function holds it. Function names are compared without their class, because
Python 3.10 has no qualified names in frames.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath

from fxrace.core.frames import is_ours
from fxrace.core.waits import Hold, Kind, Wait
from fxrace.records.finding import Frame
from fxrace.records.outcome import ThreadStack

COMPILE_LOCK = "torch._dynamo.compile_lock"
IMPORT_LOCK = "an import lock"

_CONVERT, _INDUCTOR = "torch/_dynamo/convert_frame.py", "torch/_inductor/compile_fx.py"
_RESET = "torch/_dynamo/__init__.py"
_LAZY = frozenset({"compile_fx_backward", "bw_compiler"})
_UNDER_LOCK = frozenset({"__call__", "_compile"})
#: What a thread stands in -> what it waits for. Files of the standard library.
_BLOCKING = {
    ("threading.py", "join"): (Kind.JOIN, "the end of a thread"),
    ("threading.py", "_wait_for_tstate_lock"): (Kind.JOIN, "the end of a thread"),
    ("threading.py", "_shutdown"): (Kind.JOIN, "the end of a thread"),
    ("threading.py", "wait"): (Kind.SIGNAL, "an event, condition or barrier"),
    ("threading.py", "wait_for"): (Kind.SIGNAL, "a condition"),
    ("threading.py", "acquire"): (Kind.SIGNAL, "a semaphore"),
    ("queue.py", "get"): (Kind.SIGNAL, "something in a queue"),
    ("queue.py", "put"): (Kind.SIGNAL, "room in a queue"),
    ("queue.py", "join"): (Kind.SIGNAL, "a queue to be worked off"),
    ("_base.py", "result"): (Kind.SIGNAL, "the result of a future"),
    ("_base.py", "exception"): (Kind.SIGNAL, "the result of a future"),
    ("thread.py", "_worker"): (Kind.SIGNAL, "something in a queue"),
}
_STANDARD = frozenset(file for file, _ in _BLOCKING)


def stack_waits(stacks: Iterable[ThreadStack]) -> tuple[Wait, ...]:
    """What each thread stands before as far as its frames tell; threads that run are left out."""
    found = []
    for stack in stacks:
        frames = tuple(frame for frame in stack.frames if not is_ours(frame))
        what = _what(frames)
        if what is not None:
            kind, lock = what
            found.append(Wait(waiter=stack.thread, lock=lock, owner=None, kind=kind))
    return tuple(found)


def stack_holds(stacks: Iterable[ThreadStack]) -> tuple[Hold, ...]:
    """The locks of torch and of the import system that a stack shows as held."""
    every = tuple(stacks)
    importing = [s.thread for s in every if _imports(s.frames) and not _awaits_import(s.frames)]
    compiling = [s.thread for s in every if holds_compile_lock(s.frames)]
    return (
        *(Hold(owner=name, lock=COMPILE_LOCK) for name in compiling),
        # Each module has a lock of its own: only a single importer is surely the holder.
        *(Hold(owner=name, lock=IMPORT_LOCK) for name in importing if len(importing) == 1),
    )


def holds_compile_lock(frames: tuple[Frame, ...]) -> bool:
    """True for a thread deeper inside a compile than the lock round it."""
    compiling = [f for f in frames if _in(f, _CONVERT) and _bare(f) in _UNDER_LOCK]
    lazy = [i for i, f in enumerate(frames) if _in(f, _INDUCTOR) and _bare(f) in _LAZY]
    deeper = lazy and any(_in(f, _INDUCTOR) for f in frames[lazy[-1] + 1 :])
    return len(compiling) > 1 or bool(deeper)


def awaits_compile_lock(frames: tuple[Frame, ...]) -> bool:
    """True for a thread that stands before the lock. It is reentrant: a holder never does."""
    if not frames or holds_compile_lock(frames):
        return False
    last, name = frames[-1], _bare(frames[-1])
    return (
        (_in(last, _CONVERT) and name == "__call__")
        or (_in(last, _INDUCTOR) and name in _LAZY)
        or (_in(last, _RESET) and name in {"reset", "reset_code_caches"})
    )


def _what(frames: tuple[Frame, ...]) -> tuple[Kind, str] | None:
    if awaits_compile_lock(frames):
        return (Kind.LOCK, COMPILE_LOCK)
    if _awaits_import(frames):
        return (Kind.LOCK, IMPORT_LOCK)
    told = None
    for frame in reversed(frames):
        file = PurePosixPath(frame.file).name
        if file not in _STANDARD or "site-packages" in frame.file:
            break
        told = _BLOCKING.get((file, _bare(frame)), told)
        if frame is frames[-1] and told is None:
            break
    return told


def _imports(frames: tuple[Frame, ...]) -> bool:
    return any(_bootstrap(frame) and _bare(frame) == "_find_and_load_unlocked" for frame in frames)


def _awaits_import(frames: tuple[Frame, ...]) -> bool:
    return bool(frames) and _bootstrap(frames[-1]) and _bare(frames[-1]) == "acquire"


def _bootstrap(frame: Frame) -> bool:
    return frame.file == "<frozen importlib._bootstrap>"


def _in(frame: Frame, place: str) -> bool:
    return frame.file.replace("\\", "/").endswith(place)


def _bare(frame: Frame) -> str:
    return frame.function.rsplit(".", 1)[-1]
