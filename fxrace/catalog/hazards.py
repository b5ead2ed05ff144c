"""The catalogue of hazards, read from the headers of ``repros/*.py`` without running a line.

A header is a literal dictionary, so attribution and ``fxrace repro --list`` work without torch.
A header that cannot be used is a Problem of its file; the other hazards stay usable.
"""

from __future__ import annotations

import ast
import re
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, TypeGuard

import msgspec

from fxrace.catalog.source import literal, read
from fxrace.records.hazard import Catalogue, Hazard, Problem

HEADER = "HAZARD"
DEVICES = ("cpu", "cuda")
_KEYS = {field.name for field in fields(Hazard)} - {"slug"}
_NEEDED = {field.name for field in fields(Hazard) if field.default is MISSING} - {"slug"}
_FORMATTED = re.compile(rf"^{HEADER} = (\{{\n.*?\n\}})$", re.MULTILINE | re.DOTALL)
_VERSION = re.compile(r"\d+\.\d+(\.\d+)?")


class _Unusable(ValueError):
    """Why a header is none, for ``Problem.reason``."""


def read_hazards(root: Path) -> Catalogue:
    """What ``root/repros`` declares, sorted by slug; an absent folder declares nothing."""
    hazards, problems = [], []
    for path in sorted((root / "repros").glob("[!_]*.py")):
        try:
            hazards.append(_hazard(path))
        except _Unusable as unusable:
            problems.append(Problem(slug=path.stem, reason=str(unusable)))
    return Catalogue(hazards=tuple(hazards), problems=tuple(problems))


def script_of(root: Path, slug: str) -> Path:
    """The script that declares this hazard."""
    return root / "repros" / f"{slug}.py"


def _hazard(path: Path) -> Hazard:
    header = _cut(path) or _header(path)
    unknown, missing = sorted(set(header) - _KEYS), sorted(_NEEDED - set(header))
    if unknown or missing:
        raise _Unusable(_told("unknown", unknown) or _told("missing", missing))
    try:
        hazard = msgspec.convert({**header, "slug": path.stem}, Hazard)
    except msgspec.ValidationError as error:
        raise _Unusable(f"{HEADER}: {error}") from error
    if wrong := _contradiction(hazard):
        raise _Unusable(f"{HEADER}: {wrong}")
    return hazard


def _cut(path: Path) -> dict[str, Any] | None:
    """The header as a formatter leaves it, a tenth of the time of parsing the file; else None.

    An error further down in the script shows when it runs.
    """
    try:
        found = _FORMATTED.search(path.read_text(encoding="utf-8"))
        header = ast.literal_eval(found[1]) if found else None
    except (OSError, ValueError, TypeError, SyntaxError):
        return None
    return header if _is_header(header) else None


def _header(path: Path) -> dict[str, Any]:
    tree, problem = read(path)
    if tree is None:
        raise _Unusable(problem)
    try:
        header = literal(tree, HEADER)
    except (ValueError, TypeError) as error:
        raise _Unusable(f"{HEADER} is not literal: {error}") from error
    if not _is_header(header):
        raise _Unusable(f"assigns no module-level dictionary {HEADER}")
    return header


def _is_header(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict) and all(isinstance(key, str) for key in value)


def _contradiction(hazard: Hazard) -> str | None:
    """What the types let pass and no reader could use."""
    versions = (hazard.since, *filter(None, [hazard.fixed_in]), *hazard.evidence)
    odd = [version for version in versions if not _VERSION.fullmatch(version)]
    if odd:
        return f"{odd[0]!r} is no torch version"
    if not hazard.racy.failed:
        return f"a racy twin that ends {hazard.racy.value} shows nothing"
    if hazard.device not in DEVICES:
        return f"device {hazard.device!r} is none of {', '.join(DEVICES)}"
    return None if hazard.timeout_s > 0 else "timeout_s is not above 0"


def _told(what: str, keys: list[str]) -> str:
    return f"{HEADER}: {what} {', '.join(keys)}" if keys else ""
