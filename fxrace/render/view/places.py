"""Where in somebody's code a finding is: what an annotation in a code review points at.

The surprise: most of a stack is torch, and a review can only show files of its own repository,
so a place is the innermost frame of the program itself, relative to the checkout if it is there.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import quote

from fxrace.records.document import FindingRow
from fxrace.records.finding import Frame
from fxrace.render.view import stacks

LONGEST = 2000


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """A file and line. ``inside`` is True for a file of the checkout; ``uri`` is then relative."""

    path: str
    uri: str
    line: int
    inside: bool


def place(row: FindingRow, root: Path) -> Place | None:
    """The innermost own frame of the first side that has one, those in the checkout first.

    Falls back on the innermost frame of all; None when no stack was taken.
    """
    each = [side.stack for side in row.sides if side.stack]
    own = [frame for stack in each for frame in reversed(stack) if not stacks.foreign(frame)]
    frames = own or [stack[-1] for stack in each]
    places = [of(frame, root) for frame in frames]
    return next((one for one in places if one.inside), places[0] if places else None)


def of(frame: Frame, root: Path) -> Place:
    """The place of one frame; ``root`` is the folder of the checkout."""
    name = frame.file[:LONGEST].replace("\\", "/").encode("utf-8", "backslashreplace").decode()
    pure = PurePosixPath(name)
    inside = pure.is_relative_to(PurePosixPath(root.as_posix())) and ".." not in pure.parts
    path = str(pure.relative_to(root.as_posix())) if inside else name
    escaped = quote(path, safe="/")
    if not inside:
        escaped = f"file://{escaped}" if name.startswith("/") else quote(path, safe="/")
    return Place(path=path, uri=escaped or "unknown", line=max(1, frame.line), inside=inside)


def folder_uri(root: Path) -> str:
    """The checkout itself, as the base of relative locations."""
    return f"file://{quote(root.as_posix(), safe='/')}/"
