"""The axes of a sweep: one folder per axis, one file per value, read as text.

Nothing is imported, so a part with a syntax error or a missing torch costs only itself: it stays
in the list with its ``problem``. The surprise: pressure is an axis too although its folder lives
in ``fxrace.probe``, because it is what a trial does *to* the program, not a part of it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from fxrace.catalog.source import assigned_call, flag, read, string_constant, summary_of
from fxrace.errors import UnknownPart, UsageError
from fxrace.records.sweep import Axis, PartFile

PRESSURE = Path(__file__).resolve().parent.parent / "probe" / "pressure"


def axes(roots: Sequence[Path]) -> tuple[Axis, ...]:
    """Every axis, by name, each with its parts by name.

    ``roots[0]`` holds the folder ``harness``. Further roots are users' own parts, laid out
    ``ROOT/<axis>/<part>.py``. Raises UsageError for a root without any part, UnknownPart for a
    folder of parts that is no axis, and UsageError for a name that is already taken.
    """
    folders = _axis_folders(roots[0])
    found = {name: list(_parts(folder)) for name, folder in folders.items()}
    for root in roots[1:]:
        _join(root, found)
    return tuple(
        Axis(
            name=name,
            summary=_declared(folder) or "",
            parts=tuple(sorted(found[name], key=lambda part: part.name)),
        )
        for name, folder in sorted(folders.items())
    )


def recipes(root: Path) -> tuple[PartFile, ...]:
    """The presets a sweep may train, from ``root/harness/recipes``; each holds one ``preset``."""
    return tuple(_parts(root / "harness" / "recipes", attribute="preset"))


def untimed(root: Path, preset: str) -> bool:
    """Whether this preset says that its trials may share a GPU; see ``harness.config.Preset``."""
    tree, _ = read(root / "harness" / "recipes" / f"{preset}.py")
    call = None if tree is None else assigned_call(tree, "preset")
    return call is not None and flag(call, "untimed")


def _axis_folders(root: Path) -> Mapping[str, Path]:
    harness = root / "harness"
    if not harness.is_dir():
        raise UsageError(f"no harness in {root}", remedy="reinstall fxrace, its parts are missing")
    inside = {f.name: f for f in harness.iterdir() if _declared(f) is not None}
    return {**inside, "pressure": PRESSURE}


def _declared(folder: Path) -> str | None:
    """The string that the folder's ``__init__`` assigns to AXIS, or None: it is no axis then."""
    tree, _ = read(folder / "__init__.py")
    return None if tree is None else string_constant(tree, "AXIS")


def _parts(folder: Path, *, attribute: str = "part") -> Iterator[PartFile]:
    for path in sorted(folder.glob("*.py")):
        if not path.name.startswith("_"):
            yield _part(path, attribute)


def _part(path: Path, attribute: str) -> PartFile:
    tree, problem = read(path)
    summary, default = "", False
    if tree is not None:
        summary = summary_of(tree)
        default, problem = _judge(tree, attribute, summary)
    return PartFile(name=path.stem, summary=summary, path=path, default=default, problem=problem)


def _judge(tree: ast.Module, attribute: str, summary: str) -> tuple[bool, str | None]:
    call = assigned_call(tree, attribute)
    if call is None:
        return False, f"assigns no module-level {attribute!r}"
    return flag(call, "default"), None if summary else "has no docstring to show in --help"


def _join(root: Path, found: dict[str, list[PartFile]]) -> None:
    """Add the parts of a user's folder to the axes they name."""
    if not root.is_dir():
        raise UsageError(f"--parts {root} is not a folder")
    before = sum(len(parts) for parts in found.values())
    for folder in sorted(f for f in root.iterdir() if f.is_dir()):
        parts = tuple(_parts(folder))
        if not parts or folder.name.startswith((".", "_")):
            continue
        if folder.name not in found:
            raise UnknownPart("axis folder in --parts", folder.name, tuple(sorted(found)))
        _refuse_doubles(parts, found[folder.name])
        found[folder.name].extend(parts)
    if sum(len(parts) for parts in found.values()) == before:
        raise UsageError(
            f"--parts {root} holds no part",
            remedy="lay it out as AXIS/NAME.py, for example locking/mine.py",
        )


def _refuse_doubles(parts: Sequence[PartFile], known: Sequence[PartFile]) -> None:
    """A silent override would measure something else than the name says."""
    taken = {part.name: part.path for part in known}
    for part in parts:
        if part.name in taken:
            raise UsageError(
                f"{part.path} has the name of {taken[part.name]}", remedy="rename your file"
            )
