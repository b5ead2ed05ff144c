"""What the reading verbs say of stores, baselines and documents that are none."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from fxrace.commands import _options
from fxrace.errors import ExitCode
from fxrace.store import schema
from tests.unit.cli.stores import PATCHER, add_run, baseline_of, call


def broken(folder: Path, how: str) -> str:
    """A file that is no baseline or document, by the way in which it is not."""
    path = folder / f"{how}.json"
    texts = {
        "schema": '{"schema": "fxrace.doctor", "schema_version": 1}',
        "version": '{"schema": "fxrace.baseline", "schema_version": 2, "entries": []}',
        "newer document": '{"schema": "fxrace.sweep", "schema_version": 2}',
        "half": '{"schema": "fxrace.baseline", "schema_version": 1, "entr',
        "fields": '{"schema": "fxrace.baseline", "schema_version": 1, "entries": [{}]}',
        "list": "[1, 2]",
        "empty": "",
        "bytes": "\x00\x01",
    }
    if how in texts:
        path.write_text(texts[how])
    return str(path)


@pytest.mark.parametrize(
    "how", ["schema", "version", "half", "fields", "list", "empty", "bytes", "missing"]
)
def test_a_baseline_that_is_none_is_left_alone(tmp_path: Path, how: str) -> None:
    add_run(tmp_path, {PATCHER: 4})
    path = broken(tmp_path, how)
    before = Path(path).read_bytes() if Path(path).exists() else None
    for words in ([], ["--update"] if before is not None else []):
        ran = call(tmp_path, "gate", "--baseline", path, *words)
        assert (ran.exit_code, ran.stdout) == (ExitCode.USAGE, "")
        assert len(ran.stderr.splitlines()) == 1
    assert before is None or Path(path).read_bytes() == before


@pytest.mark.parametrize("how", ["schema", "newer document", "half", "list", "missing"])
def test_a_document_that_is_none(tmp_path: Path, how: str) -> None:
    add_run(tmp_path, {})
    ran = call(tmp_path, "diff", "1", broken(tmp_path, how))
    assert (ran.exit_code, len(ran.stderr.splitlines())) == (ExitCode.USAGE, 1)


@pytest.mark.parametrize(
    "words",
    [["report", "9"], ["report", "--run", "9"], ["report", "9" * 30], ["report", "1", "--run", "2"],
     ["report", "1", "--latest"], ["diff", "1", "9"], ["gate", "9", "--baseline", "b.json"]],
)  # fmt: skip
def test_runs_that_are_not_there(tmp_path: Path, words: list[str]) -> None:
    add_run(tmp_path, {})
    (tmp_path / "b.json").write_text('{"schema":"fxrace.baseline","schema_version":1,"entries":[]}')
    words = [str(tmp_path / word) if word == "b.json" else word for word in words]
    ran = call(tmp_path, *words)
    assert (ran.exit_code, ran.stdout) == (ExitCode.USAGE, "")
    assert len(ran.stderr.splitlines()) == 1


@pytest.mark.parametrize("damage", ["cut off", "newer"])
@pytest.mark.parametrize("verb", ["report", "diff", "gate", "history"])
def test_a_store_that_cannot_be_read(tmp_path: Path, verb: str, damage: str) -> None:
    add_run(tmp_path, {PATCHER: 4}, repeats=20)
    path = baseline_of(tmp_path)
    database = tmp_path / _options.DATABASE
    if damage == "cut off":
        os.truncate(database, database.stat().st_size // 2)
    else:
        connection = sqlite3.connect(database)
        connection.execute(f"PRAGMA user_version = {schema.version_of() + 1}")
        connection.close()
    words = {"diff": ["1", "1"], "gate": ["--baseline", str(path)]}.get(verb, [])
    ran = call(tmp_path, verb, *words)
    assert (ran.exit_code, ran.stdout) == (ExitCode.USAGE, "")
    assert len(ran.stderr.splitlines()) == 1
