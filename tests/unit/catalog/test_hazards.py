"""Headers are read without running anything, and a bad one costs only itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fxrace.catalog.hazards import read_hazards, script_of
from fxrace.records.hazard import Layer
from fxrace.records.verdict import Verdict

GOOD: dict[str, Any] = {
    "title": "what goes wrong",
    "layer": "fx",
    "states": ("fx.patcher",),
    "regions": (),
    "patterns": ("exception",),
    "racy": "RAISED",
    "remedy": "what helps",
    "since": "2.6",
    "evidence": {"2.13.0": "RAISED 1 of 1"},
}


def write(root: Path, slug: str, header: object, tail: str = "") -> None:
    (root / "repros").mkdir(exist_ok=True)
    (root / "repros" / f"{slug}.py").write_text(f'"""Doc."""\nHAZARD = {header!r}\n{tail}')


def without(key: str) -> dict[str, Any]:
    return {name: value for name, value in GOOD.items() if name != key}


def test_a_header_becomes_a_hazard_and_nothing_runs(tmp_path: Path) -> None:
    write(tmp_path, "b-late", {**GOOD, "fixed_in": "2.14.1", "silent": True}, "raise SystemExit(9)")
    write(tmp_path, "a-early", GOOD)
    write(tmp_path, "_shared", {})
    read = read_hazards(tmp_path)
    assert not read.problems
    assert [hazard.slug for hazard in read.hazards] == ["a-early", "b-late"]
    first, second = read.hazards
    assert first.layer is Layer.FX and first.racy is Verdict.RAISED
    assert (first.states, first.fixed_in, first.silent) == (("fx.patcher",), None, False)
    assert (second.fixed_in, second.silent) == ("2.14.1", True)
    assert script_of(tmp_path, "a-early").is_file()


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        (without("racy"), "missing racy"),
        ({**GOOD, "slug": "x"}, "unknown slug"),
        ({**GOOD, "layer": "kernel"}, "layer"),
        ({**GOOD, "states": "fx.patcher"}, "states"),
        ({**GOOD, "racy": "CLEAN"}, "shows nothing"),
        ({**GOOD, "since": "2"}, "no torch version"),
        ({**GOOD, "evidence": {"latest": "x"}}, "no torch version"),
        ({**GOOD, "device": "tpu"}, "device"),
        ({**GOOD, "timeout_s": 0}, "timeout_s"),
        (["no", "dictionary"], "no module-level dictionary"),
    ],
)
def test_a_bad_header_costs_only_itself(tmp_path: Path, header: object, reason: str) -> None:
    write(tmp_path, "good", GOOD)
    write(tmp_path, "bad", header)
    read = read_hazards(tmp_path)
    assert [hazard.slug for hazard in read.hazards] == ["good"]
    (problem,) = read.problems
    assert problem.slug == "bad"
    assert reason in problem.reason


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("HAZARD = dict(title='x')", "not literal"),
        ("x = 1", "no module-level dictionary"),
        ("HAZARD = {", "syntax error"),
    ],
)
def test_what_is_not_literal_is_not_evaluated(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "repros").mkdir()
    (tmp_path / "repros" / "odd.py").write_text(text)
    (problem,) = read_hazards(tmp_path).problems
    assert reason in problem.reason


def test_no_folder_declares_nothing(tmp_path: Path) -> None:
    assert read_hazards(tmp_path).hazards == ()


@pytest.mark.parametrize("header", ["{\n    1: 2,\n}", "{\n    'a',\n}", "{\n    []: 1,\n}"])
def test_a_formatted_header_that_is_none_is_a_problem_of_its_file(
    tmp_path: Path, header: str
) -> None:
    (tmp_path / "repros").mkdir()
    (tmp_path / "repros" / "odd.py").write_text(f"HAZARD = {header}\n")
    (problem,) = read_hazards(tmp_path).problems
    assert problem.slug == "odd"
