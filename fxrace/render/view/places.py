"""Where in somebody's code a finding is: what an annotation in a code review points at.

The surprise: most of a stack is torch, and a review can only show files of its own repository,
so a place is the innermost frame of the program itself, relative to the checkout if it is there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath
from urllib.parse import quote

from fxrace.records.document import FindingRow
from fxrace.records.finding import Frame
from fxrace.render.view import stacks

LONGEST = 1000


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
    each = [stacks.folded(side.stack) for side in row.sides if side.stack]
    own = [frame for stack in each for frame in reversed(stack.own)]
    frames = own or [stack.every[-1] for stack in each]
    found = [of(frame, root) for frame in frames]
    return next((one for one in found if one.inside), found[0] if found else None)


def of(frame: Frame, root: Path) -> Place:
    """The place of one frame; ``root`` is the folder of the checkout."""
    path, uri, inside = _named(frame.file[:LONGEST], root.as_posix())
    return Place(path=path, uri=uri, line=max(1, frame.line), inside=inside)


@lru_cache(maxsize=4096)
def _named(file: str, root: str) -> tuple[str, str, bool]:
    """Path, URI and whether it is inside; many frames share few files."""
    name = file.replace("\\", "/").encode("utf-8", "backslashreplace").decode()
    pure = PurePosixPath(name)
    if pure.is_relative_to(root) and ".." not in pure.parts:
        path = str(pure.relative_to(root))
        return path, quote(path, safe="/"), True
    scheme = "file://" if name.startswith("/") else ""
    return name, f"{scheme}{quote(name, safe='/')}" or "unknown", False


def folder_uri(root: Path) -> str:
    """The checkout itself, as the base of relative locations."""
    return f"file://{quote(root.as_posix(), safe='/')}/"
