"""Which Python locks the threads of a process stand before and hold, from its source code.

A lock taken in C leaves no frame, but the line does: a thread whose innermost frame stands on
``with self.lock:`` waits for it, one inside the block holds it. A lock is told from its like by
the address of the object it was reached from, which py-spy reads with the local variables.

What cannot be seen this way: locks held through ``acquire()`` or a context manager of their own,
and code whose source is not on this machine. A block that waits on a condition counts as not
holding anything, because waiting lets go of the lock.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

from fxrace.core.stand import COMPILE_LOCK
from fxrace.core.waits import Hold, Kind, Wait
from fxrace.launch.source_blocks import Blocks, blocks

Frame = Mapping[str, Any]

_STANDARD = frozenset({"threading.py", "queue.py", "_base.py"})
_BOOTSTRAP = "<frozen importlib._bootstrap>"
_REENTRANT_WAITS = frozenset({"Condition.wait", "Condition.wait_for", "wait", "wait_for"})


def waits_in(thread: str, frames: Sequence[Frame]) -> tuple[Wait, ...]:
    """What this thread stands before; several for one line with several locks.

    ``frames`` are py-spy's own, innermost first, with locals.
    """
    if module := _awaited_import(frames):
        return (Wait(waiter=thread, lock=module, owner=None),)
    for frame in frames:
        if not _standard(frame):
            keys = [_key(wanted, frame) for wanted in _blocks(frame).wanted_at(frame["line"])]
            return tuple(Wait(waiter=thread, lock=key, owner=None) for key in keys if key)
        if frame["name"].rsplit(".", 1)[-1] in {"wait", "join", "result", "get", "put"}:
            break
    return ()


def roots_of(waits: Iterable[Wait]) -> frozenset[str]:
    """What the wanted locks were reached from: objects and files. Reading source is slow (a tenth
    of a second for a file of torch's), so only frames that know one of these are looked into.
    """
    return frozenset(wait.lock.rpartition(" of ")[2] for wait in waits)


def holds_in(thread: str, frames: Sequence[Frame], roots: frozenset[str]) -> tuple[Hold, ...]:
    """The locks whose blocks this thread is inside, and the modules it imports."""
    found = [Hold(owner=thread, lock=module) for module in _importing(frames)]
    below: Frame | None = None
    for frame in frames:
        waits = below is not None and _standard(below) and below["name"] in _REENTRANT_WAITS
        if not _standard(frame) and not waits and roots & _known_to(frame):
            keys = (_key(held, frame) for held in _blocks(frame).held_at(frame["line"]))
            found.extend(Hold(owner=thread, lock=key) for key in keys if key)
        below = frame
    return tuple(found)


def joins_in(threads: Mapping[str, Sequence[Frame]]) -> tuple[Wait, ...]:
    """Who waits for the end of which thread: both have the Thread object among their locals."""
    started = {
        address: name
        for name, frames in threads.items()
        for frame in frames
        if _in_threading(frame, "_bootstrap") and (address := _local(frame, "self"))
    }
    found = []
    for name, frames in threads.items():
        for frame in frames:
            if not _standard(frame):
                break
            if _in_threading(frame, "join"):
                owner = started.get(_local(frame, "self") or "")
                lock = "the end of a thread"
                found.append(Wait(waiter=name, lock=lock, owner=owner, kind=Kind.JOIN))
                break
    return tuple(found)


def _key(expression: ast.expr, frame: Frame) -> str | None:
    """What an expression in a frame is: equal in two threads only for one and the same object."""
    text = ast.unparse(expression)
    name, _, path = text.partition(".")
    if text.rpartition(".")[2] == "compile_lock" and "/torch/_" in frame["filename"]:
        return COMPILE_LOCK
    if not all(part.isidentifier() for part in text.split(".")):
        return None
    if local := _local(frame, name):
        return f"{path} of {local}" if path else local
    if name in _blocks(frame).top_level:
        return f"{text} of {frame['filename']}"
    return None


def _local(frame: Frame, name: str) -> str | None:
    """``Type at 0x...`` of a local variable, or None where there is no such object."""
    for local in frame.get("locals") or ():
        if local["name"] == name and " at 0x" in (local["repr"] or ""):
            return str(local["repr"]).strip("<>")
    return None


def _known_to(frame: Frame) -> set[str]:
    """The roots that a lock in this frame could be reached from."""
    locals_ = frame.get("locals") or ()
    return {frame["filename"], *(str(local["repr"]).strip("<>") for local in locals_)}


def _awaited_import(frames: Sequence[Frame]) -> str | None:
    if not frames or frames[0]["filename"] != _BOOTSTRAP:
        return None
    if frames[0]["name"].rsplit(".", 1)[-1] != "acquire":
        return None
    return next(iter(_module_names(frames, "_find_and_load")), None)


def _importing(frames: Sequence[Frame]) -> Iterator[str]:
    return _module_names(frames, "_find_and_load_unlocked")


def _module_names(frames: Sequence[Frame], function: str) -> Iterator[str]:
    for frame in frames:
        if frame["filename"] != _BOOTSTRAP or frame["name"] != function:
            continue
        for local in frame.get("locals") or ():
            if local["name"] == "name":
                yield f"the import of {str(local['repr']).strip(chr(34))}"


def _in_threading(frame: Frame, function: str) -> bool:
    file = PurePosixPath(frame["filename"]).name
    return file == "threading.py" and frame["name"].rsplit(".", 1)[-1] == function


def _standard(frame: Frame) -> bool:
    """The standard library's own waiting; its blocks are not the program's."""
    path = PurePosixPath(frame["filename"])
    return (path.name in _STANDARD and "site-packages" not in path.parts) or _fxrace(path)


def _fxrace(path: PurePosixPath) -> bool:
    return path.parts[-3:-1] == ("probe", "hooks")


def _blocks(frame: Frame) -> Blocks:
    return _read(frame["filename"])


@cache
def _read(file: str) -> Blocks:
    try:
        return blocks(Path(file).read_bytes())
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        return Blocks()
