"""Turns what SQLite raises into the sentences of ``fxrace.errors``."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fxrace.errors import FxraceError, OutputUnwritable, StoreUnreadable

_UNWRITABLE = ("readonly", "read-only", "full", "unable to open", "disk i/o", "locked")


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Around every use of the database at ``path``."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise _explanation(path, error) from error
    except OSError as error:
        raise OutputUnwritable(
            f"cannot write {path}: {error.strerror or error}",
            remedy="name another folder with --output",
        ) from error


def _explanation(path: Path, error: sqlite3.DatabaseError) -> FxraceError:
    text = str(error)
    if isinstance(error, sqlite3.OperationalError) and any(
        word in text.lower() for word in _UNWRITABLE
    ):
        return OutputUnwritable(
            f"cannot write {path}: {text}",
            remedy="free some space or name another folder with --output; stored trials are kept",
        )
    return StoreUnreadable(
        f"{path} cannot be read as an fxrace database: {text}",
        remedy="move it away or name another folder with --output",
    )
