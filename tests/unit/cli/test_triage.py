"""``diff``, ``gate`` and ``history`` over real stores."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from fxrace.errors import ExitCode
from fxrace.records import wire
from fxrace.records.document import RunDocument
from fxrace.records.finding import Tier
from fxrace.records.repro import Judgement, ReproDocument, ReproRow, TwinRow
from fxrace.records.verdict import Verdict
from tests.unit.cli.stores import FLAG, PATCHER, add_run, baseline_of, call
from tests.unit.render import documents

CONCLUSIVE = 8


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
    assert len(ran.stderr.splitlines()) == 2
    expired = rules(tmp_path, f"fingerprint = '{PATCHER}'\nreason = 'x'\nuntil = 2001-01-01")
    again = call(tmp_path, "gate", "--baseline", str(path), "--suppressions", expired)
    assert again.exit_code == ExitCode.FINDINGS


def repro(folder: Path, judgement: Judgement) -> str:
    """A document of the catalogue with one script."""
    shown = judgement is Judgement.REPRODUCED
    racy = TwinRow(verdict=Verdict.RAISED if shown else Verdict.CLEAN, k=5 if shown else 0, n=5)
    row = ReproRow(
        slug="fx-patcher-assert", python="/usr/bin/python", torch="2.13.0", racy=racy,
        guarded=TwinRow(verdict=Verdict.CLEAN, k=5, n=5), judgement=judgement, reason="",
    )  # fmt: skip
    document = ReproDocument(
        schema="fxrace.repro", schema_version=1, results=(row,), hazards=(), problems={},
        interrupted=False,
    )  # fmt: skip
    path = folder / f"{judgement.value}.json"
    path.write_bytes(wire.encode(document))
    return str(path)


def test_a_gate_over_the_catalogue(tmp_path: Path) -> None:
    shows, absent, broken_ = (
        repro(tmp_path, one)
        for one in (Judgement.REPRODUCED, Judgement.NOT_REPRODUCED, Judgement.BROKEN)
    )
    path = str(tmp_path / "baseline.json")
    assert call(tmp_path, "gate", absent, "--baseline", path, "--update").exit_code == ExitCode.PASS
    assert call(tmp_path, "gate", absent, "--baseline", path).exit_code == ExitCode.PASS
    assert call(tmp_path, "gate", shows, "--baseline", path).exit_code == ExitCode.FINDINGS
    assert call(tmp_path, "gate", broken_, "--baseline", path).exit_code == ExitCode.INCONCLUSIVE
    file = rules(tmp_path, "hazard = 'fx-patcher-assert'\nreason = 'known'")
    told = document(tmp_path, "gate", shows, "--baseline", path, "--suppressions", file)
    assert (told["blocking"], list(told["suppressed"])) == ([], ["repro:fx-patcher-assert"])
    assert call(tmp_path, "diff", shows, absent).exit_code == ExitCode.USAGE


def test_a_gate_over_a_program(tmp_path: Path) -> None:
    found = RunDocument(
        schema="fxrace.run", schema_version=1, command=("x.py",), exit_status=0, timed_out=False,
        runs=2, torch="2.13.0", findings=(documents.finding((), fingerprint=PATCHER),),
        regions={}, overlaps=1, blind=(), record="",
    )  # fmt: skip
    (tmp_path / "run.json").write_bytes(wire.encode(found))
    path = str(tmp_path / "baseline.json")
    words = ("gate", str(tmp_path), "--baseline", path)
    assert call(tmp_path, *words).exit_code == ExitCode.USAGE
    assert call(tmp_path, *words, "--update").exit_code == ExitCode.PASS
    told = document(tmp_path, *words)
    assert [entry["fingerprint"] for entry in told["known"]] == [PATCHER]
    assert (told["subject"]["verb"], told["subject"]["trials"]) == ("run", 2)


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
