"""``diff``, ``gate`` and ``history`` over real stores, and what they say of bad input."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner, Result

from fxrace import cli
from fxrace.commands import _options
from fxrace.errors import ExitCode
from fxrace.records import wire
from fxrace.records.finding import Tier
from fxrace.store import schema
from tests.unit.cli.stores import FLAG, PATCHER, add_run

CONCLUSIVE = 8


def call(folder: Path, *words: str) -> Result:
    return CliRunner().invoke(cli.main, [words[0], "-o", str(folder), *words[1:]])


def document(folder: Path, *words: str) -> dict[str, Any]:
    """What the verb prints with --json, held against its published schema."""
    ran = call(folder, *words, "--json")
    plain: dict[str, Any] = json.loads(ran.stdout)
    assert list(plain)[:2] == ["schema", "schema_version"]
    kind = wire.DOCUMENTS[plain["schema"].removeprefix("fxrace.")]
    jsonschema.Draft202012Validator(wire.schema(kind)).validate(plain)
    return plain


def changes(plain: dict[str, Any]) -> dict[str, str]:
    return {row["fingerprint"]: row["change"] for row in plain["findings"]}


def test_diff_tells_new_gone_and_same(tmp_path: Path) -> None:
    add_run(tmp_path, {PATCHER: 4, "0" * 12: 4})
    add_run(tmp_path, {FLAG: 4, PATCHER: 3})
    told = document(tmp_path, "diff", "1", "2")
    assert changes(told) == {FLAG: "new", "0" * 12: "gone", PATCHER: "same"}
    assert {row["fingerprint"]: row["beyond_chance"] for row in told["findings"]} == {
        FLAG: True, "0" * 12: True, PATCHER: False
    }  # fmt: skip
    assert (told["before"]["trials"], told["after"]["trials"]) == (CONCLUSIVE, CONCLUSIVE)


@pytest.mark.parametrize(("times", "change"), [(2, "less"), (20, "same"), (18, "same")])
def test_a_rate_has_changed_when_the_intervals_are_apart(
    tmp_path: Path, times: int, change: str
) -> None:
    add_run(tmp_path, {PATCHER: 20}, repeats=20)
    add_run(tmp_path, {PATCHER: times}, repeats=20)
    assert changes(document(tmp_path, "diff", "1", "2")) == {PATCHER: change}


def test_where_nobody_looked_nothing_is_gone(tmp_path: Path) -> None:
    add_run(tmp_path, {PATCHER: 4})
    add_run(tmp_path, {}, locks=("whole_step",))
    told = document(tmp_path, "diff", "1", "2")
    assert changes(told) == {PATCHER: "unasked"}
    assert (told["only_before"], told["only_after"]) == (1, 0)


def test_cells_with_other_verdicts_or_speed(tmp_path: Path) -> None:
    add_run(tmp_path, {PATCHER: 4})
    add_run(tmp_path, {}, speed=400.0)
    told = document(tmp_path, "diff", "1", "2")
    cells = {cell["knobs"]["locking"]: cell for cell in told["cells"]}
    assert (cells["none"]["failures"], cells["none"]["after"]) == ("less", {"CLEAN": 4})
    assert (cells["whole_step"]["failures"], cells["whole_step"]["speed"]) == ("same", "less")
    assert document(tmp_path, "diff", "1", "1")["unchanged"] == 2


@pytest.mark.parametrize(
    ("fail_on", "code"),
    [("none", ExitCode.PASS), ("new", ExitCode.FINDINGS), ("changed", ExitCode.FINDINGS),
     ("new,changed", ExitCode.FINDINGS), ("everything", ExitCode.USAGE)],
)  # fmt: skip
def test_diff_fails_only_when_asked(tmp_path: Path, fail_on: str, code: ExitCode) -> None:
    add_run(tmp_path, {})
    add_run(tmp_path, {PATCHER: 4})
    assert call(tmp_path, "diff", "1", "2", "--fail-on", fail_on).exit_code == code
    if code is not ExitCode.USAGE:
        assert call(tmp_path, "diff", "2", "1", "--fail-on", fail_on).exit_code == ExitCode.PASS


def test_diff_of_folders_and_of_documents(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    add_run(one, {PATCHER: 4})
    add_run(other, {FLAG: 4})
    file = tmp_path / "one.json"
    file.write_text(call(one, "report", "--json").stdout)
    for before in (str(one), str(file)):
        told = document(tmp_path, "diff", before, str(other))
        assert changes(told) == {FLAG: "new", PATCHER: "gone"}


def baseline_of(folder: Path) -> Path:
    path = folder / "fxrace-baseline.json"
    ran = call(folder, "gate", "--baseline", str(path), "--update")
    assert ran.exit_code == ExitCode.PASS, ran.stderr
    return path


def test_a_gate_passes_what_is_known_and_stops_what_is_new(tmp_path: Path) -> None:
    add_run(tmp_path, {PATCHER: 4})
    path = baseline_of(tmp_path)
    told = document(tmp_path, "gate", "--baseline", str(path))
    assert [entry["fingerprint"] for entry in told["known"]] == [PATCHER]
    add_run(tmp_path, {FLAG: 4})
    ran = call(tmp_path, "gate", "--baseline", str(path))
    assert ran.exit_code == ExitCode.FINDINGS
    told = document(tmp_path, "gate", "--baseline", str(path))
    assert told["blocking"] == [FLAG]
    assert [entry["fingerprint"] for entry in told["fixed"]] == [PATCHER]
    assert told["replay"][FLAG].startswith("fxrace replay ")
    assert call(tmp_path, "gate", "1", "--baseline", str(path)).exit_code == ExitCode.PASS


def test_an_update_is_stable_and_sorted(tmp_path: Path) -> None:
    add_run(tmp_path, {PATCHER: 4, FLAG: 2})
    path = baseline_of(tmp_path)
    first = path.read_bytes()
    plain = json.loads(first)
    prints = [entry["fingerprint"] for entry in plain["entries"]]
    assert prints == sorted(prints) == [FLAG, PATCHER]
    assert first.endswith(b"}\n")
    assert baseline_of(tmp_path).read_bytes() == first


@pytest.mark.parametrize(
    ("words", "code"), [([], ExitCode.PASS), (["--strict"], ExitCode.FINDINGS)]
)
def test_what_is_not_proven_stops_only_the_strict(
    tmp_path: Path, words: list[str], code: ExitCode
) -> None:
    add_run(tmp_path, {})
    path = baseline_of(tmp_path)
    add_run(tmp_path, {PATCHER: 4}, tier=Tier.RACE)
    ran = call(tmp_path, "gate", "--baseline", str(path), *words)
    assert (ran.exit_code, PATCHER in ran.stdout) == (code, True)


def test_an_interrupted_run_fixes_nothing(tmp_path: Path) -> None:
    add_run(tmp_path, {PATCHER: 4})
    path = baseline_of(tmp_path)
    add_run(tmp_path, {}, ended=False)
    assert document(tmp_path, "gate", "--baseline", str(path))["fixed"] == []


def test_zero_trials_are_inconclusive(tmp_path: Path) -> None:
    add_run(tmp_path, {PATCHER: 4})
    path = baseline_of(tmp_path)
    add_run(tmp_path, {}, repeats=0)
    assert call(tmp_path, "gate", "--baseline", str(path)).exit_code == ExitCode.INCONCLUSIVE
    assert document(tmp_path, "diff", "1", "2")["after"]["trials"] == 0
    assert [life["last"] for life in document(tmp_path, "history")["lives"]] == [1]


def rules(folder: Path, *tables: str) -> str:
    path = folder / "rules.toml"
    path.write_text("".join(f"[[suppress]]\n{table}\n" for table in tables))
    return str(path)


def test_a_suppressed_finding_passes_and_is_told(tmp_path: Path) -> None:
    add_run(tmp_path, {})
    path = baseline_of(tmp_path)
    add_run(tmp_path, {PATCHER: 4})
    file = rules(
        tmp_path,
        f"fingerprint = '{PATCHER}'\nreason = 'upstream'",
        "hazard = 'nothing'\nreason = 'old'",
        f"fingerprint = '{PATCHER}'\nreason = 'until then'\nuntil = 2001-01-01",
    )
    told = document(tmp_path, "gate", "--baseline", str(path), "--suppressions", file)
    assert (told["blocking"], told["suppressed"]) == ([], {PATCHER: "upstream"})
    assert [rule["hazard"] for rule in told["unused"]] == ["nothing"]
    assert [rule["reason"] for rule in told["expired"]] == ["until then"]
    ran = call(tmp_path, "gate", "--baseline", str(path), "--suppressions", file)
    assert ran.exit_code == ExitCode.PASS
    assert "unused suppression" in ran.stderr
    expired = rules(tmp_path, f"fingerprint = '{PATCHER}'\nreason = 'x'\nuntil = 2001-01-01")
    again = call(tmp_path, "gate", "--baseline", str(path), "--suppressions", expired)
    assert again.exit_code == ExitCode.FINDINGS


def test_suppressions_in_the_working_folder_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_run(tmp_path, {PATCHER: 4})
    monkeypatch.chdir(tmp_path)
    text = f"[[suppress]]\nfingerprint = '{PATCHER}'\nreason = 'upstream'\n"
    Path(".fxrace-suppressions.toml").write_text(text)
    shown = json.loads(call(tmp_path, "report", "--json").stdout)
    assert [row["suppressed"] for row in shown["findings"]] == ["upstream"]
    Path(".fxrace-suppressions.toml").write_text("[[suppress]]\nhazard = 'h'\n")
    ran = call(tmp_path, "report", "--json")
    assert (ran.exit_code, ran.stdout) == (ExitCode.USAGE, "")


def test_history_names_who_looked_and_who_saw(tmp_path: Path) -> None:
    add_run(tmp_path, {PATCHER: 3})
    add_run(tmp_path, {})
    add_run(tmp_path, {}, locks=("whole_step",))
    add_run(tmp_path, {PATCHER: 1, FLAG: 1})
    lives = {life["fingerprint"]: life for life in document(tmp_path, "history")["lives"]}
    patcher = lives[PATCHER]
    assert (patcher["first"], patcher["last"], lives[FLAG]["first"]) == (1, 4, 4)
    seen = {row["run"]: (row["seen"]["k"], row["seen"]["n"]) for row in patcher["runs"]}
    assert seen == {1: (3, 4), 2: (0, 4), 4: (1, 4)}
    (one,) = document(tmp_path, "history", FLAG[:6])["lives"]
    assert one["fingerprint"] == FLAG
    assert call(tmp_path, "history", "ffff").exit_code == ExitCode.USAGE


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
