"""Records to JSON and back, in one place, for the parent side.

Why here: a field that is renamed in one record must not change three hand-written encoders.
The surprise: text from a trial may hold lone surrogates (undecodable bytes of a C++ message),
which no JSON encoder accepts; they are written as ``\\udc80`` escapes instead of failing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from fxrace.records.baseline import Baseline
from fxrace.records.claims import ClaimsDocument
from fxrace.records.doctor import DoctorDocument
from fxrace.records.document import DumpDocument, ReplayDocument, RunDocument, SweepDocument
from fxrace.records.exploration import ExploreDocument, TokenDocument
from fxrace.records.page import PageDocument
from fxrace.records.repro import BisectDocument, ReproDocument
from fxrace.records.testing import PytestDocument
from fxrace.records.triage import DiffDocument, GateDocument, HistoryDocument

T = TypeVar("T")

#: The documents whose schemas are published in ``fxrace/schemas/<name>.json``.
DOCUMENTS: Mapping[str, type] = {
    "sweep": SweepDocument,
    "replay": ReplayDocument,
    "doctor": DoctorDocument,
    "run": RunDocument,
    "dump": DumpDocument,
    "repro": ReproDocument,
    "bisect": BisectDocument,
    "explore": ExploreDocument,
    "claims": ClaimsDocument,
    "replay_token": TokenDocument,
    "page": PageDocument,
    "pytest": PytestDocument,
    "baseline": Baseline,
    "diff": DiffDocument,
    "gate": GateDocument,
    "history": HistoryDocument,
}
DIALECT = "https://json-schema.org/draft/2020-12/schema"


def encode(record: Any) -> bytes:
    """One record (or plain value) as compact JSON, UTF-8, no newline."""
    try:
        return msgspec.json.encode(record)
    except UnicodeEncodeError:
        return msgspec.json.encode(_scrubbed(msgspec.to_builtins(record)))


def pretty(record: Any) -> str:
    """The same, indented for people and for diffs."""
    return msgspec.json.format(encode(record), indent=2).decode()


def decode(kind: type[T], text: bytes | str) -> T:
    """Rebuild a record. Unknown fields are ignored, so an older fxrace reads a newer file.

    Raises ``msgspec.DecodeError`` for anything that is not this record.
    """
    return msgspec.json.decode(text, type=kind)


def schema(kind: type) -> dict[str, Any]:
    """The JSON Schema (2020-12) of a record, as it is published in ``fxrace/schemas``."""
    return {"$schema": DIALECT, **msgspec.json.schema(kind)}


def published(name: str) -> str:
    """The text of ``fxrace/schemas/<name>.json``; a test holds the file to it."""
    return json.dumps(schema(DOCUMENTS[name]), indent=2) + "\n"


def _scrubbed(value: Any) -> Any:
    """The same plain value with every lone surrogate spelled out."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, Mapping):
        return {_scrubbed(key): _scrubbed(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_scrubbed(item) for item in value]
    return value
