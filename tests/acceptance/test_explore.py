"""``fxrace explore`` and ``replay TOKEN`` as a user runs them: two traces, a pair, ones own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.sweeping import fxrace

pytestmark = pytest.mark.slow


def explored(folder: Path, *words: str) -> dict[str, Any]:
    ran = fxrace("explore", *words, "--json", "--output", str(folder), cwd=folder)
    assert ran.status == 0, ran.stderr
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


def test_two_traces_are_exhausted_alike_each_time_and_are_one_cause(tmp_path: Path) -> None:
    words = ("symbolic_trace", "symbolic_trace", "--bound", "2", "--no-scripts")
    runs = []
    for number in range(3):
        folder = tmp_path / str(number)
        folder.mkdir()
        runs.append(explored(folder, *words))
    for document in runs:
        (pair,) = document["pairs"]
        assert pair["exhausted"]
        assert (pair["slips"], pair["verdict"]) == (0, "finding")
    assert len({run["pairs"][0]["schedules"] for run in runs}) == 1
    assert len({tuple(f["fingerprint"] for f in run["findings"]) for run in runs}) == 1
    assert len({run["findings"][0]["token"] for run in runs}) == 1
    (finding,) = runs[0]["findings"]
    told = " ".join(finding["symptoms"])
    assert "AssertionError in _new_patcher" in told
    assert "_is_fx_tracing_flag is True" in told
    assert "Module.__call__ is" in told
    assert finding["hazard"] == "fx-patcher-assert"
    assert (finding["reliability"]["k"], finding["reliability"]["n"]) == (3, 3)

    ran = fxrace(
        "replay", finding["token"], "--repeat", "100", "--json",
        "--output", str(tmp_path / "0"), cwd=tmp_path,
    )  # fmt: skip
    assert ran.status == 0, ran.stderr
    again = json.loads(ran.stdout)
    assert (again["reproduced"]["k"], again["exact"]) == (100, 100)


def test_an_interference_has_a_script_that_reproduces_and_a_token(tmp_path: Path) -> None:
    document = explored(tmp_path, "symbolic_trace", "module_call")
    found = {(pair["a"], pair["b"]): pair for pair in document["pairs"]}
    assert found["module_call", "symbolic_trace"]["verdict"] == "safe"
    assert found["module_call", "symbolic_trace"]["exhausted"]
    (finding,) = document["findings"]
    assert finding["hazard"] == "fx-module-call-hijack"
    assert all(side["stack"] for side in finding["sides"])
    script = Path(finding["repro"])
    text = script.read_text()
    assert "20/20" in text
    assert "fxrace" not in text
    assert len(text.splitlines()) <= 42
    assert subprocess.run([sys.executable, str(script)], timeout=120).returncode == 66
    assert "## Reproducer" in script.with_suffix(".md").read_text()
    ran = fxrace("replay", finding["token"], "--repeat", "5", "--output", str(tmp_path),
                 cwd=tmp_path)  # fmt: skip
    assert ran.status == 0, ran.stderr


def test_callables_of_ones_own_are_not_explored_again(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import torch\nfrom torch.fx import symbolic_trace\n\n"
        "def load():\n    return symbolic_trace(torch.nn.Linear(2, 2)).graph\n\n"
        "def infer():\n    return torch.nn.Linear(2, 2)(torch.ones(1, 2)).shape\n"
    )
    words = ("mine:load", "mine:infer", "--no-scripts")
    document = explored(tmp_path, *words)
    found = {(pair["a"], pair["b"]): pair["verdict"] for pair in document["pairs"]}
    assert found == {("mine:load", "mine:infer"): "finding", ("mine:infer", "mine:load"): "safe"}
    assert document["findings"][0]["state"] == "nn.module_call"
    ran = fxrace("explore", *words, "--output", str(tmp_path), cwd=tmp_path)
    assert "2 pairs, 2 known from before" in ran.stderr


def test_what_fails_alone_is_never_called_safe(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "def broken():\n    raise ValueError('mine')\n\ndef fine():\n    return 1\n"
    )
    ran = fxrace("explore", "mine:broken", "mine:fine", "--bound", "1", "--json", "--no-scripts",
                 "--output", str(tmp_path), cwd=tmp_path)  # fmt: skip
    assert ran.status == 3, ran.stderr
    (pair,) = json.loads(ran.stdout)["pairs"]
    assert pair["verdict"] == "inconclusive"
    assert "ValueError" in pair["reason"]


def test_a_word_that_is_no_operation(tmp_path: Path) -> None:
    ran = fxrace("explore", "symbolic_trcae", "module_call", cwd=tmp_path)
    assert ran.status == 2
    assert "symbolic_trcae" in ran.stderr
