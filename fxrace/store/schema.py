"""Brings a database to the current schema, one numbered SQL file at a time.

A migration and its number are one transaction, so a killed upgrade is either done or not
begun. ``application_id`` marks the file as fxrace's, so that no other program's database is
ever written to.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from fxrace.errors import StoreTooNew, StoreUnreadable

APPLICATION = 0x46585243  # "FXRC"
MIGRATIONS = Path(__file__).parent / "migrations"


def version_of(folder: Path = MIGRATIONS) -> int:
    """The schema number this fxrace writes."""
    return _steps(folder)[-1][0]


def check(connection: sqlite3.Connection, path: Path, folder: Path = MIGRATIONS) -> int:
    """The schema number of an fxrace database, 0 for an empty file.

    Raises ``StoreUnreadable`` for a foreign or damaged one and ``StoreTooNew``.
    """
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    number = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if not tables and not number:
        return 0
    if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
        raise StoreUnreadable(
            f"{path} is a database of another program", remedy="name another file with --output"
        )
    if number > version_of(folder):
        raise StoreTooNew(
            f"{path} has schema {number}, this fxrace knows {version_of(folder)}",
            remedy="upgrade fxrace or name another folder with --output",
        )
    verdict = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if verdict != "ok":
        raise StoreUnreadable(
            f"{path} is damaged ({' '.join(str(verdict).split())})",
            remedy="move it away; trials will be measured again",
        )
    return number


def migrate(connection: sqlite3.Connection, number: int, folder: Path = MIGRATIONS) -> None:
    """Apply every step above ``number``, in order."""
    for step, path in _steps(folder):
        if step <= number:
            continue
        script = path.read_text(encoding="utf-8")
        try:
            connection.executescript(
                f"BEGIN IMMEDIATE; PRAGMA application_id = {APPLICATION};"
                f"{script}\nPRAGMA user_version = {step}; COMMIT;"
            )
        except sqlite3.Error:
            if connection.in_transaction:
                connection.rollback()
            raise


def _steps(folder: Path) -> list[tuple[int, Path]]:
    """(number, file), ascending; the file's name begins with the number."""
    return sorted((int(path.name.split("_")[0]), path) for path in folder.glob("*.sql"))
