"""A hash over the code that takes part in a trial, so that edited code is measured again.

That is what runs in the trial process and what draws conclusions from its record. Commands and
formats do not count: a nicer report must not cost a sweep.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import fxrace

RUN_FROM_ROOTS = "harness"
TAKES_PART = ("records", "core", "probe", "launch")


def sources(roots: Sequence[Path]) -> str:
    """16 hex digits over every ``*.py`` of those parts of fxrace and of the roots' harness folders.

    Where the code lies does not count, only relative names and contents.
    """
    total = hashlib.sha256()
    home = Path(fxrace.__file__).absolute().parent
    ours = (home / part for part in TAKES_PART)
    for folder in (*ours, *(root / RUN_FROM_ROOTS for root in roots)):
        for name, content in _files(folder):
            total.update(f"{folder.name}/{name}\0{len(content)}\0".encode())
            total.update(content)
    return total.hexdigest()[:16]


def _files(folder: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(folder.rglob("*.py")):
        relative = path.relative_to(folder)
        if not {"_bundled", "__pycache__"} & set(relative.parts):
            yield relative.as_posix(), path.read_bytes()
