"""Which frames of a stack a reader should see first.

A race inside ``torch.compile`` is thirty frames of torch under two of the user's own. The user's
are shown, innermost last as Python prints them; the complete stack stays one click away.
"""

from __future__ import annotations

from dataclasses import dataclass

from fxrace.records.finding import Frame

FRAMES, LEAST, MARKUP = 60, 4, 120
_BUNDLED = "/_bundled/"
_FOREIGN = (
    "/site-packages/",
    "/dist-packages/",
    "/torch/",
    "/lib/python3",
    "/fxrace/probe/",
    "<frozen ",
    "<string>",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Stack:
    """``own`` are the frames of the program under test; ``every`` is the stack, middle cut out.

    ``left_out`` counts the frames cut from ``every``; ``innermost`` is where the thread stands.
    """

    own: tuple[Frame, ...]
    every: tuple[Frame, ...]
    left_out: int
    innermost: Frame | None


def foreign(frame: Frame) -> bool:
    """True for frames of torch, of installed packages and of the interpreter's own library."""
    path = frame.file.replace("\\", "/")
    return _BUNDLED not in path and any(mark in path for mark in _FOREIGN)


def shown_path(path: str) -> str:
    """The path from the package on, where that says as much: ``torch/fx/_symbolic_trace.py``."""
    for mark in (_BUNDLED, "/site-packages/", "/dist-packages/"):
        if mark in path:
            return path.rpartition(mark)[2]
    return path


def folded(frames: tuple[Frame, ...], most: int = FRAMES) -> Stack:
    """A stack made fit to read. An endless recursion keeps its two ends."""
    head, tail = frames[: most // 2], frames[most // 2 :][-(most // 2) :]
    every = (*head, *tail)
    return Stack(
        own=tuple(frame for frame in every if not foreign(frame)),
        every=every,
        left_out=len(frames) - len(every),
        innermost=frames[-1] if frames else None,
    )


class Room:
    """Characters of stacks a page may still show; later stacks only keep their two ends."""

    def __init__(self, characters: int) -> None:
        self._left = characters

    def fold(self, frames: tuple[Frame, ...]) -> Stack:
        """Fold one stack, at the cost of its frames."""
        stack = folded(frames, FRAMES if self._left > 0 else LEAST)
        self._left -= sum(MARKUP + len(f.file) + len(f.function) for f in stack.every)
        return stack
