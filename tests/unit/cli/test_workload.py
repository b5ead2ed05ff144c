"""What is trained on what: checked before anything starts, and in no digest where it is usual."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from fxrace.cli import main
from fxrace.commands import _plan, _workload
from fxrace.errors import UnknownPart, UsageError

USUAL: dict[str, Any] = {
    "data": "phrase", "model": None, "fail_fast": False, "kernel_options": "",
    "gil_share": False, "documents": "joined", "shared_cache": None,
}  # fmt: skip


def test_the_usual_changes_no_digest() -> None:
    assert _workload.settings(USUAL) == {}


def test_what_is_given_is_set(tmp_path: Path) -> None:
    tokens, model = tmp_path / "t.bin", tmp_path / "model"
    tokens.write_bytes(b"12")
    model.mkdir()
    (model / "config.json").write_text("{}")
    given = {
        "data": str(tokens), "model": model, "fail_fast": True, "kernel_options": "A=1",
        "gil_share": True, "documents": "151643", "shared_cache": False,
    }  # fmt: skip
    assert _workload.settings(given) == {**given, "model": str(model)}
    assert _workload.settings({**USUAL, "data": "stdlib"}) == {"data": "stdlib"}


@pytest.mark.parametrize(
    "wrong",
    [
        {"data": "nonsense"},
        {"data": "missing.bin"},
        {"data": "missing.txt"},
        {"documents": "together"},
        {"documents": "-1"},
        {"documents": "apart"},
        {"documents": "packed"},
        {"documents": "packed:7"},
        {"documents": "packed:"},
        {"documents": "packed:end"},
        {"model": Path("no_such_folder")},
    ],
)
def test_what_is_not_there_is_a_usage_error(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        _workload.settings({**USUAL, **wrong})


def test_documents_that_a_file_does_not_tell_apart_are_a_usage_error(tmp_path: Path) -> None:
    tokens, lines = tmp_path / "t.bin", tmp_path / "t.jsonl"
    for file in (tokens, lines):
        file.write_bytes(b"12")
    given = {**USUAL, "documents": "apart"}
    with pytest.raises(UsageError, match="where they end"):
        _workload.settings({**given, "data": str(tokens)})
    assert _workload.settings({**given, "data": str(lines)})["documents"] == "apart"
    found = _workload.settings({**USUAL, "documents": "0", "data": str(tokens)})
    assert found["documents"] == "0"


def test_packed_rows_need_borders(tmp_path: Path) -> None:
    tokens, lines = tmp_path / "t.bin", tmp_path / "t.jsonl"
    for file in (tokens, lines):
        file.write_bytes(b"12")
    for wrong in ("packed:", "packed:-1", "packed:x", "unpacked"):
        with pytest.raises(UsageError, match="none of"):
            _workload.settings({**USUAL, "data": str(lines), "documents": wrong})
    for file, how in ((lines, "packed"), (lines, "packed:7"), (tokens, "packed:7")):
        found = _workload.settings({**USUAL, "data": str(file), "documents": how})
        assert found == {"data": str(file), "documents": how}


def test_packed_rows_of_a_file_without_borders_end_with_code_2(tmp_path: Path) -> None:
    tokens = tmp_path / "t.bin"
    tokens.write_bytes(b"12")
    answer = CliRunner().invoke(
        main, ["sweep", "--data", str(tokens), "--documents", "packed", "-o", str(tmp_path / "o")]
    )
    assert answer.exit_code == 2
    assert answer.stdout == ""
    assert "does not say where they end" in answer.stderr and "packed:ID" in answer.stderr
    assert "Traceback" not in answer.stderr
    assert not (tmp_path / "o").exists()


def test_presets_may_be_written_with_hyphens() -> None:
    assert _plan.preset_named("paper-8b") == "paper_8b"
    assert _plan.preset_named("tiny") == "tiny"
    with pytest.raises(UnknownPart):
        _plan.preset_named("paper-9b")
