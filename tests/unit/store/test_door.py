"""Files that are not what they should be, two writers, full disks, killed writers."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fxrace.errors import NothingToShow, OutputUnwritable, StoreTooNew, StoreUnreadable
from fxrace.store import Run, Store, StoredTrial, open_store, schema
from tests.unit.store import samples

Append = Callable[..., StoredTrial]
CHECKOUT = Path(__file__).parents[3]


def test_opening_twice_for_writing_names_the_holder(path: Path, store: Store) -> None:
    with pytest.raises(OutputUnwritable, match=str(os.getpid())):
        open_store(path)
    store.close()
    open_store(path).close()


def test_readers_see_what_a_writer_has_stored(path: Path, run: Run, append: Append) -> None:
    with open_store(path, readonly=True) as reader:
        assert reader.trials_of(run) == ()
        row = append()
        assert reader.trials_of(run) == (row,)


def test_a_reader_cannot_write(path: Path, run: Run) -> None:
    with open_store(path, readonly=True) as reader, pytest.raises(OutputUnwritable):
        reader.end_run(run)


@pytest.mark.parametrize("readonly", [True, False])
@pytest.mark.parametrize(
    "content", [b"this is a letter, not a database\n" * 200, b"SQLite format 3\0"]
)
def test_no_database(tmp_path: Path, content: bytes, readonly: bool) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(StoreUnreadable):
        open_store(path, readonly=readonly)
    assert path.read_bytes() == content


@pytest.mark.parametrize("readonly", [True, False])
def test_a_database_of_another_program_is_left_alone(tmp_path: Path, readonly: bool) -> None:
    path = tmp_path / "other.sqlite"
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE t (x)")
    other.close()
    before = path.read_bytes()
    with pytest.raises(StoreUnreadable):
        open_store(path, readonly=readonly)
    assert path.read_bytes() == before


@pytest.mark.parametrize("readonly", [True, False])
def test_cut_off(path: Path, store: Store, append: Append, readonly: bool) -> None:
    for seed in range(30):
        append(seed)
    store.close()
    open_store(path, readonly=readonly).close()
    os.truncate(path, path.stat().st_size // 2)
    with pytest.raises(StoreUnreadable):
        open_store(path, readonly=readonly)


@pytest.mark.parametrize("readonly", [True, False])
def test_newer_schema(path: Path, store: Store, readonly: bool) -> None:
    store._connection.execute(f"PRAGMA user_version = {schema.version_of() + 1}")
    store.close()
    with pytest.raises(StoreTooNew):
        open_store(path, readonly=readonly)


def test_a_cell_that_holds_no_record(store: Store, run: Run, append: Append) -> None:
    append()
    store._connection.execute("UPDATE trials SET outcome = '{'")
    with pytest.raises(StoreUnreadable):
        store.trials_of(run)


def test_nothing_there_to_read(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    for name in ("empty", "missing"):
        with pytest.raises(NothingToShow):
            open_store(tmp_path / name, readonly=True)


def test_a_folder_under_a_file_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutputUnwritable):
        open_store(tmp_path / "file" / "out" / "fxrace.sqlite")


def test_a_full_disk_keeps_what_was_stored(
    path: Path, store: Store, run: Run, append: Append
) -> None:
    kept = append(0)
    pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
    store._connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(OutputUnwritable):
        append(1, payload={"losses": list(range(100_000))})
    assert store.trials_of(run) == (kept,)
    store._connection.execute("PRAGMA max_page_count = 100000")
    assert append(1).number > kept.number


def test_an_older_schema_is_brought_up_to_date(tmp_path: Path) -> None:
    for name in ("0001_a.sql", "0002_b.sql"):
        (tmp_path / name).write_text(f"CREATE TABLE t{name[3]} (x);")
    connection = sqlite3.connect(":memory:", isolation_level=None)
    schema.migrate(connection, 0, tmp_path)
    connection.execute("INSERT INTO t1 VALUES (5)")
    (tmp_path / "0010_c.sql").write_text("ALTER TABLE t1 ADD COLUMN y DEFAULT 6;")
    schema.migrate(connection, schema.check(connection, tmp_path, tmp_path), tmp_path)
    assert connection.execute("SELECT * FROM t1").fetchall() == [(5, 6)]
    assert schema.check(connection, tmp_path, tmp_path) == 10


def test_a_failing_migration_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "0001_a.sql").write_text("CREATE TABLE a (x); CREATE TABLE a (x);")
    connection = sqlite3.connect(":memory:", isolation_level=None)
    with pytest.raises(sqlite3.OperationalError):
        schema.migrate(connection, 0, tmp_path)
    assert schema.check(connection, tmp_path, tmp_path) == 0


KILLED_APPEND = """
import os, signal, sys
from pathlib import Path
from fxrace.store import open_store
from tests.unit.store import samples

store = open_store(Path(sys.argv[1]))
run = store.begin_run(environment=samples.environment(), command=(), settings={})

def put(seed):
    store.append(run, trial=samples.trial(seed), outcome=samples.outcome(),
        ending=samples.ending(), findings=(samples.finding(),), payload={}, directory=None)

put(0)
real = store._connection

class Killed:
    def __getattr__(self, name):
        return getattr(real, name)
    def execute(self, sql, *rest):
        if sql == "COMMIT":
            os.kill(os.getpid(), signal.SIGKILL)
        return real.execute(sql, *rest)

store._connection = Killed()
put(1)
"""


def test_sigkill_in_the_middle_of_an_append(path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", KILLED_APPEND, str(path)],
        cwd=CHECKOUT,
        timeout=60,
        check=False,
    )
    assert ran.returncode == -signal.SIGKILL
    with open_store(path, readonly=True) as reader:
        assert [row.trial for row in reader.trials_of(reader.latest_run())] == [samples.trial(0)]
    with open_store(path) as writer:
        assert set(writer.known(samples.environment().digest)) == {samples.trial(0).digest}
