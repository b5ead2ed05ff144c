"""Stack frames: from recorded triples to records, and what a reader should see first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from fxrace.records.finding import Frame

_WITH = "contextlib.py"


def frames_of(recorded: Iterable[Sequence[object]]) -> tuple[Frame, ...]:
    """``[file, line, function]`` triples as Frames, our own hooks left out.

    A thread that a pressure holds waits inside one of our hooks: that wait goes too, and so does
    the standard library's frame through which a ``with`` enters one.
    """
    frames = [
        Frame(file=str(file), line=int(str(line)), function=str(function))
        for file, line, function in recorded
    ]
    ours = [index for index, frame in enumerate(frames) if is_ours(frame)]
    if ours and all(is_waiting(frame) for frame in frames[ours[-1] + 1 :]):
        frames = frames[: ours[-1]]
    entered = [*map(is_ours, frames[1:]), bool(ours)][: len(frames)]
    return tuple(
        frame
        for frame, into_ours in zip(frames, entered, strict=True)
        if not is_ours(frame) and not (into_ours and PurePosixPath(frame.file).name == _WITH)
    )


def is_ours(frame: Frame) -> bool:
    """True for the frames of fxrace's own hooks, which no user wants to see.

    Operations are what is explored, so their frames are as good as a user's.
    """
    path = frame.file.replace("\\", "/")
    return "/fxrace/probe/" in path and "/fxrace/probe/operations/" not in path


def is_torch(frame: Frame) -> bool:
    """True inside torch and what it drags in; everything else is the user's."""
    return "torch" in PurePosixPath(frame.file.replace("\\", "/")).parts


def is_waiting(frame: Frame) -> bool:
    """True inside the standard library's threading and queue modules."""
    return PurePosixPath(frame.file).name in {"threading.py", "queue.py"}


def normalised(frame: Frame) -> str:
    """File name and bare function, without the line: stable over releases."""
    return f"{PurePosixPath(frame.file).name}:{frame.function.rsplit('.', 1)[-1]}"
