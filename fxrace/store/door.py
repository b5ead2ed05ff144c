"""Opens a store: for reading by anyone, for writing by exactly one process at a time.

The writer holds an advisory lock on a file beside the database, which the kernel drops when
the process ends, however it ends. It is a file of its own because closing any descriptor of
the database itself would drop SQLite's locks.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from pathlib import Path

from fxrace.errors import NothingToShow, OutputUnwritable
from fxrace.store import schema
from fxrace.store.faults import explained
from fxrace.store.store import Store

BUSY_S = 10.0


def open_store(path: Path, *, readonly: bool = False) -> Store:
    """The store at ``path``, made if missing (unless ``readonly``) and brought up to date.

    Raises ``OutputUnwritable`` (also when another process writes it), ``StoreTooNew``,
    ``StoreUnreadable`` and, for reading, ``NothingToShow`` when there is no file.
    """
    path = path.absolute()
    return _reader(path) if readonly else _writer(path)


def _writer(path: Path) -> Store:
    with explained(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = _claim(path)
        try:
            connection = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None)
            try:
                number = schema.check(connection, path)
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = NORMAL")
                connection.execute("PRAGMA foreign_keys = ON")
                schema.migrate(connection, number)
            except BaseException:
                connection.close()
                raise
        except BaseException:
            os.close(lock)
            raise
    return Store(connection, path, lock=lock)


def _reader(path: Path) -> Store:
    if not path.is_file() or not path.stat().st_size:
        raise NothingToShow(f"no results at {path}", remedy="run fxrace sweep first")
    with explained(path):
        connection, number = _readable(path)
        if number < schema.version_of():
            connection = _upgraded_copy(connection, number)
    return Store(connection, path, lock=None)


def _readable(path: Path) -> tuple[sqlite3.Connection, int]:
    """A checked connection and its schema number.

    A folder that cannot be written may have no room for the index a reader of a WAL database
    makes; then the file is read as it stands.
    """
    for mode in ("mode=ro", "immutable=1"):
        connection = sqlite3.connect(
            f"{path.as_uri()}?{mode}", uri=True, timeout=BUSY_S, isolation_level=None
        )
        try:
            return connection, schema.check(connection, path)
        except sqlite3.OperationalError:
            connection.close()
            if mode == "immutable=1":
                raise
        except BaseException:
            connection.close()
            raise
    raise AssertionError("unreachable")


def _upgraded_copy(old: sqlite3.Connection, number: int) -> sqlite3.Connection:
    """An older schema, read without touching the file: copied into memory and migrated there."""
    copy = sqlite3.connect(":memory:", isolation_level=None)
    old.backup(copy)
    old.close()
    schema.migrate(copy, number)
    return copy


def _claim(path: Path) -> int:
    """Hold the writer's lock of ``path``; raises ``OutputUnwritable`` naming the holder."""
    name = path.with_name(path.name + ".writer")
    lock = os.open(name, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        holder = os.read(lock, 32).decode(errors="replace").strip() or "unknown"
        os.close(lock)
        raise OutputUnwritable(
            f"{path} is being written by another fxrace (process {holder})",
            remedy="wait for it to end or name another folder with --output",
        ) from None
    os.ftruncate(lock, 0)
    os.pwrite(lock, str(os.getpid()).encode(), 0)
    return lock
