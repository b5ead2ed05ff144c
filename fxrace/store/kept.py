"""The files a project keeps beside its code, a baseline and suppressions, and JSON documents.

They come from a repository or another machine, so each is checked for what it says it is before
it is believed, and a baseline is written whole or not at all.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from fxrace.core import suppressions
from fxrace.errors import OutputUnwritable, UsageError
from fxrace.records import baseline as kept
from fxrace.records import wire
from fxrace.records.baseline import Baseline
from fxrace.records.document import RunDocument, SweepDocument
from fxrace.records.exploration import ExploreDocument
from fxrace.records.repro import ReproDocument
from fxrace.records.suppression import Suppression
from fxrace.records.testing import PytestDocument

SUPPRESSIONS = Path(".fxrace-suppressions.toml")
#: What ``diff`` and ``gate`` read, by the document's ``schema``.
READABLE: Mapping[str, type] = {
    "fxrace.sweep": SweepDocument,
    "fxrace.explore": ExploreDocument,
    "fxrace.run": RunDocument,
    "fxrace.repro": ReproDocument,
    "fxrace.pytest": PytestDocument,
}
VERSION = 1


def read_baseline(path: Path) -> Baseline:
    """The baseline in this file. Raises UsageError."""
    if not path.exists():
        raise UsageError(f"no baseline at {path}", remedy="make one with --update")
    found = _document(path, {kept.SCHEMA: Baseline}, kept.SCHEMA_VERSION)
    assert isinstance(found, Baseline)
    return found


def write_baseline(path: Path, baseline: Baseline) -> None:
    """Write it, indented and with a last line break. Raises OutputUnwritable."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        try:
            draft.write_text(wire.pretty(baseline) + "\n", encoding="utf-8")
            draft.replace(path)
        finally:
            with suppress(OSError):
                draft.unlink()
    except OSError as error:
        raise OutputUnwritable(
            f"the baseline {path} cannot be written ({error.strerror})",
            remedy="name another file with --baseline",
        ) from error


Readable = SweepDocument | ExploreDocument | RunDocument | ReproDocument | PytestDocument


def read_document(path: Path) -> Readable:
    """The JSON document that a verb printed into this file. Raises UsageError."""
    found = _document(path, READABLE, VERSION)
    assert isinstance(found, Readable)
    return found


def read_suppressions(path: Path | None) -> tuple[Suppression, ...]:
    """Those in the named file; without a name, those in the usual one, if it is there."""
    if path is None and not SUPPRESSIONS.exists():
        return ()
    name = path or SUPPRESSIONS
    return suppressions.parse(_text(name).decode("utf-8", "replace"), name=str(name))


def _document(path: Path, kinds: Mapping[str, type], version: int) -> Any:
    content = _text(path)
    known = f"this fxrace reads {', '.join(kinds)} of version {version}"
    try:
        head = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(
            f"{path} is no JSON document: {error}", remedy="was it cut off in mid-write?"
        ) from None
    name = head.get("schema") if isinstance(head, dict) else None
    if not isinstance(name, str) or name not in kinds:
        told = repr(name)[:60] if name is not None else "no schema"
        raise UsageError(f"{path} has {told}", remedy=known)
    if head.get("schema_version") != version:
        raise UsageError(
            f"{path} is {name} of version {str(head.get('schema_version'))[:20]}",
            remedy=f"{known}; a newer file needs a newer fxrace",
        )
    try:
        return wire.decode(kinds[name], content)
    except (msgspec.DecodeError, ValueError) as error:
        raise UsageError(
            f"{path} is no {name} document: {error}", remedy="write it again with --json"
        ) from None


def _text(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read ({error.strerror})", remedy="check the name"
        ) from None
