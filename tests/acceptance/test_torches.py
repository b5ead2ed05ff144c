"""The suite on three torches: as it is, with a hazard repaired, with one back and a new race.

The other two are this torch, changed in every interpreter that the suite starts (``torches``). What
is run are three scripts of the catalogue and two pairs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from click.testing import CliRunner

from fxrace.commands.gate import command as gate
from fxrace.errors import ExitCode
from fxrace.testing.suite import BASELINES
from tests.acceptance.plugin.running import ROOT, plugin

BASELINE = BASELINES / "torch-2.13.json"
TORCHES = Path(__file__).parent / "torches"
RUN_S = 300.0
FLAG, INPUT = "fx.tracing_flag", "torch.nn.modules.container:_input"
CALLED, MODULES = "symbolic_trace-compile_warm_eager", "module_call-symbolic_trace"
SCRIPTS = ("fx-flag-crash", "fx-patcher-assert", "config-hash-shared")
CHOSEN = " or ".join([*SCRIPTS, CALLED, MODULES])
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not torch.__version__.startswith("2.13."), reason="the other torches are made of 2.13"
    ),
]


@dataclass(frozen=True, kw_only=True, slots=True)
class Ran:
    """``became`` is test -> what it became; ``causes`` is State -> fingerprint."""

    status: int
    printed: str
    became: dict[str, str]
    causes: dict[str, str]
    gate: dict[str, Any]
    gate_status: ExitCode


def suite_on(which: str, folder: Path, *more: str) -> Ran:
    """The suite on that torch, and what the gate says of its document."""
    report = folder / "suite.json"
    path = os.pathsep.join([str(ROOT), str(TORCHES), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *plugin()]
    ran = subprocess.run(
        [*command, "--pyargs", "fxrace.suite", f"--fxrace-report={report}", "-k", CHOSEN, *more],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": path, "FXRACE_TEST_TORCH": which},
        timeout=RUN_S, capture_output=True, text=True, check=False,
    )  # fmt: skip
    document = json.loads(report.read_text())
    words = [str(report), f"--baseline={BASELINE}", "--json"]
    held = CliRunner().invoke(gate, words, standalone_mode=False)
    return Ran(
        status=ran.returncode,
        printed=ran.stdout + ran.stderr,
        became={one["test"].partition("[")[2].rstrip("]"): one["became"]
                for one in document["tests"]},
        causes={one["state"]: one["fingerprint"] for one in document["findings"]},
        gate=json.loads(held.stdout),
        gate_status=held.return_value,
    )  # fmt: skip


def names(entries: list[dict[str, Any]]) -> set[str]:
    return {entry["fingerprint"] for entry in entries}


KNOWN = {"fx-flag-crash", "fx-patcher-assert", CALLED}


def test_this_torch_is_known_on_two_workers_too(tmp_path: Path) -> None:
    ran = suite_on("", tmp_path, "-n", "2", "--dist=loadfile")
    assert ran.became == dict.fromkeys(KNOWN, "known") | dict.fromkeys(
        ("config-hash-shared", MODULES), "passed"
    ), ran.printed
    assert (ran.status, ran.gate_status) == (0, ExitCode.PASS)
    scripts = {"repro:fx-flag-crash", "repro:fx-patcher-assert"}
    assert names(ran.gate["known"]) == scripts | {ran.causes[FLAG]}
    assert (ran.gate["new"], ran.gate["fixed"], ran.gate["broken"]) == ([], [], [])


def test_a_hazard_repaired_upstream_is_fixed_and_the_others_stay(tmp_path: Path) -> None:
    ran = suite_on("repaired", tmp_path)
    assert ran.became == dict.fromkeys(
        ("fx-flag-crash", CALLED, "config-hash-shared", MODULES), "passed"
    ) | {"fx-patcher-assert": "known"}, ran.printed
    assert (ran.status, ran.gate_status) == (0, ExitCode.PASS)
    assert ran.causes == {}
    fixed = {entry["fingerprint"]: entry for entry in ran.gate["fixed"]}
    script = fixed.pop("repro:fx-flag-crash")
    assert script["hazard"] == "fx-flag-crash"
    (pair,) = fixed.values()
    assert pair["state"] == FLAG
    assert [seen["place"]["what"] for seen in pair["seen"]] == [f"test_pair[{CALLED}]"]
    assert names(ran.gate["known"]) == {"repro:fx-patcher-assert"}
    assert (ran.gate["new"], ran.gate["broken"]) == ([], [])


def test_a_hazard_that_is_back_and_a_race_nobody_knows_are_new(tmp_path: Path) -> None:
    ran = suite_on("regressed", tmp_path)
    assert ran.became == dict.fromkeys(KNOWN, "known") | dict.fromkeys(
        ("config-hash-shared", MODULES), "failed"
    ), ran.printed
    assert (ran.status, ran.gate_status) == (1, ExitCode.FINDINGS)
    new = {"repro:config-hash-shared", ran.causes[INPUT]}
    assert names(ran.gate["new"]) == set(ran.gate["blocking"]) == new
    assert ran.gate["replay"][ran.causes[INPUT]] == "fxrace explore module_call symbolic_trace"
    assert (ran.gate["fixed"], ran.gate["broken"]) == ([], [])
