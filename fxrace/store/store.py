"""The open database: appends ended trials, answers which are known, lists runs.

A trial goes in with its outcome, findings and ending in one transaction, so a process killed
at any moment leaves whole trials only. Rows are never changed; a trial measured again is a new
row, and the newest conclusive one counts.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any

from fxrace.errors import NothingToShow
from fxrace.records import wire
from fxrace.records.environment import Environment
from fxrace.records.finding import Finding
from fxrace.records.outcome import Ending, Outcome, Stop
from fxrace.records.trial import Setting, Trial
from fxrace.records.verdict import Verdict
from fxrace.store.faults import explained
from fxrace.store.query import RUN, TRIAL, run_from, trial_from
from fxrace.store.rows import Run, StoredTrial

SHORTEST_PREFIX = 6
_RUN_AGAIN = (Verdict.BROKEN.value, Stop.INTERRUPTED.value, Stop.NOT_STARTED.value)


class Store:
    """One connection. Made by ``open_store``; close it, or use it as a context manager."""

    def __init__(self, connection: sqlite3.Connection, path: Path, *, lock: int | None) -> None:
        self._connection, self._path, self._lock = connection, path, lock

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the database and let the next writer in."""
        self._connection.close()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def begin_run(
        self,
        *,
        environment: Environment,
        command: Iterable[str],
        settings: Mapping[str, Setting],
        axes: Mapping[str, Sequence[str]] = MappingProxyType({}),
    ) -> Run:
        """Record that a command begins; its trials are appended or linked to it.

        ``axes`` are the values it sweeps over, for the doors that sweep.
        """
        told = (tuple(command), dict(settings), {axis: tuple(axes[axis]) for axis in axes})
        run = (environment.digest, *map(_text, told), _now())
        with self._writing() as connection:
            connection.execute(
                "INSERT OR IGNORE INTO environments VALUES (?, ?)",
                (environment.digest, _text(environment)),
            )
            number = connection.execute(
                "INSERT INTO runs (environment, command, settings, axes, started)"
                " VALUES (?, ?, ?, ?, ?)",
                run,
            ).lastrowid
        return self.run(int(number or 0))

    def end_run(self, run: Run) -> None:
        """Record that the command came to its end."""
        with self._writing() as connection:
            connection.execute("UPDATE runs SET ended = ? WHERE id = ?", (_now(), run.number))

    def append(
        self,
        run: Run,
        *,
        trial: Trial,
        outcome: Outcome,
        ending: Ending,
        findings: tuple[Finding, ...],
        payload: Mapping[str, Any],
        directory: Path | None,
    ) -> StoredTrial:
        """Store one ended trial, whole or not at all. ``payload`` must be JSON-able."""
        row = (
            trial.digest, run.environment.digest, outcome.verdict.value, ending.stop.value,
            _text(trial), _text(outcome), _text(ending), _text(payload),
            None if directory is None else str(directory), _now(),
        )  # fmt: skip
        with self._writing() as connection:
            number = connection.execute(
                "INSERT INTO trials (digest, environment, verdict, stop, trial, outcome, ending,"
                " payload, directory, stored) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                row,
            ).lastrowid
            connection.executemany(
                "INSERT INTO findings VALUES (?, ?, ?, ?)",
                [(number, i, f.fingerprint, _text(f)) for i, f in enumerate(findings)],
            )
            connection.execute("INSERT INTO run_trials VALUES (?, ?, 0)", (run.number, number))
        return self._trials("t.id = ?", number)[0]

    def link(self, run: Run, stored: StoredTrial) -> None:
        """Let ``run`` take over a trial that an earlier run measured."""
        with self._writing() as connection:
            connection.execute(
                "INSERT OR IGNORE INTO run_trials VALUES (?, ?, 1)", (run.number, stored.number)
            )

    def known(self, environment_digest: str) -> dict[str, StoredTrial]:
        """digest -> newest execution that need not be repeated in this environment.

        Left out: BROKEN, interrupted and never started ones.
        """
        rows = self._trials(
            "t.environment = ? AND t.verdict <> ? AND t.stop NOT IN (?, ?)",
            environment_digest,
            *_RUN_AGAIN,
        )
        return {row.digest: row for row in rows}

    def trials_of(self, run: Run) -> tuple[StoredTrial, ...]:
        """Every trial of the run, reused ones included, oldest execution first."""
        where = "t.id IN (SELECT trial FROM run_trials WHERE run = ?)"
        with explained(self._path):
            rows = self._connection.execute(
                "SELECT trial FROM run_trials WHERE run = ? AND reused", (run.number,)
            )
            reused = {number for (number,) in rows}
        return tuple(self._trials(where, run.number, reused=reused))

    def runs(self) -> tuple[Run, ...]:
        """Every run, the oldest first."""
        with explained(self._path):
            rows = self._connection.execute(f"{RUN} ORDER BY r.id").fetchall()
        with self._decoding():
            return tuple(run_from(row) for row in rows)

    def run(self, number: int) -> Run:
        """The run of this number. Raises ``NothingToShow``, with the numbers there are."""
        try:
            return self._one_run("WHERE r.id = ?", (number,), f"no run {number} in {self._path}")
        except OverflowError:  # beyond what SQLite can count
            raise NothingToShow(f"no run of that number in {self._path}") from None

    def latest_run(self) -> Run:
        """The run begun last. Raises ``NothingToShow``."""
        return self._one_run("ORDER BY r.id DESC LIMIT 1", (), f"no run in {self._path}")

    def trial(self, prefix: str) -> StoredTrial:
        """The newest execution of the trial whose digest starts so (6 hex digits or more).

        Raises ``NothingToShow``, with the candidates when there are several.
        """
        prefix = prefix.strip().lower()
        if len(prefix) < SHORTEST_PREFIX or prefix.strip("0123456789abcdef"):
            raise NothingToShow(
                f"{prefix!r} is no trial digest", remedy="give its first 6 or more hex digits"
            )
        rows = {row.digest: row for row in self._trials("t.digest GLOB ?", prefix + "*")}
        if len(rows) > 1:
            raise NothingToShow(
                f"{prefix} fits {len(rows)} trials", remedy=f"say which: {', '.join(rows)}"
            )
        for row in rows.values():
            return row
        raise NothingToShow(f"no trial {prefix} in {self._path}", remedy="fxrace report lists them")

    def mentioning(self, text: str) -> tuple[StoredTrial, ...]:
        """Trials whose payload holds this text, newest first."""
        return tuple(reversed(list(self._trials("instr(t.payload, ?) > 0", text))))

    def _one_run(self, rest: str, values: tuple[int, ...], missing: str) -> Run:
        with explained(self._path):
            row = self._connection.execute(f"{RUN} {rest}", values).fetchone()
        if row is None:
            raise NothingToShow(missing, remedy=self._there_are())
        with self._decoding():
            return run_from(row)

    def _there_are(self) -> str:
        with explained(self._path):
            first, last, number = self._connection.execute(
                "SELECT min(id), max(id), count(*) FROM runs"
            ).fetchone()
        if not number:
            return "run fxrace sweep first"
        return f"there is run {first}" if number == 1 else f"there are runs {first} to {last}"

    def _trials(
        self, where: str, *values: object, reused: set[int] | None = None
    ) -> list[StoredTrial]:
        with explained(self._path):
            rows = self._connection.execute(f"{TRIAL} WHERE {where} ORDER BY t.id", values)
            found = rows.fetchall()
        with self._decoding():
            return [trial_from(row, reused=reused or set()) for row in found]

    @contextmanager
    def _decoding(self) -> Iterator[None]:
        """A cell that no longer holds its record is damage like any other."""
        try:
            yield
        except ValueError as error:
            with explained(self._path):
                raise sqlite3.DatabaseError(f"a cell holds no record ({error})") from error

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction: all of the block or nothing."""
        with explained(self._path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise


def _text(record: Any) -> str:
    return wire.encode(record).decode()


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")
