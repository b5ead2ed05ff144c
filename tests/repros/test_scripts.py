"""Every script, both twins, once, under the torch that is installed: as its header has it.

In forks of a process with torch, since that is fast, and one of each layer as its readers run it.
A GPU script skips itself where there is no GPU, and then says why.
"""

from __future__ import annotations

import importlib.metadata
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from fxrace.catalog.hazards import read_hazards, script_of
from fxrace.core.repro_judge import judge, row_of, run_of
from fxrace.launch.script import run_script
from fxrace.launch.script_forks import ScriptForks
from fxrace.records.hazard import Hazard
from fxrace.records.repro import Judgement, ScriptEnd, ScriptRun
from fxrace.records.verdict import Verdict

ROOT = Path(__file__).parents[2]
HAZARDS = read_hazards(ROOT).hazards
TORCH = importlib.metadata.version("torch")


def cases() -> list[object]:
    return [
        pytest.param(h, marks=pytest.mark.gpu if h.device == "cuda" else (), id=h.slug)
        for h in HAZARDS
    ]


Run = Callable[..., ScriptRun]


@pytest.fixture
def fork(forks: ScriptForks) -> Run:
    forking = partial(ran, forks.run)
    return lambda hazard, *words: (forking if forks.usable and hazard.device == "cpu" else run)(
        hazard, *words
    )


def ran(runner: Callable[..., ScriptEnd], hazard: Hazard, *arguments: str) -> ScriptRun:
    script = script_of(ROOT, hazard.slug)
    end = runner(script, *arguments, timeout_s=hazard.timeout_s, give_up=lambda: False)
    return run_of(end, timeout_s=hazard.timeout_s)


def run(hazard: Hazard, *arguments: str) -> ScriptRun:
    """In an interpreter of its own."""
    return ran(partial(run_script, Path(sys.executable)), hazard, *arguments)


def is_as_declared(hazard: Hazard, ran: ScriptRun) -> None:
    racy, unrun = row_of([ran], wanted=hazard.racy), row_of([], wanted=Verdict.CLEAN)
    judgement, reason = judge(hazard, TORCH, racy, unrun)
    assert judgement in (Judgement.REPRODUCED, Judgement.NOT_APPLICABLE), reason
    assert "the header says" not in reason


@pytest.mark.parametrize("hazard", cases())
def test_racy_twin(hazard: Hazard, fork: Run) -> None:
    is_as_declared(hazard, fork(hazard))


@pytest.mark.parametrize("hazard", {h.layer: h for h in HAZARDS if h.device == "cpu"}.values())
def test_racy_twin_in_an_interpreter_of_its_own(hazard: Hazard) -> None:
    is_as_declared(hazard, run(hazard))


@pytest.mark.parametrize("hazard", cases())
def test_guarded_twin(hazard: Hazard, fork: Run) -> None:
    ran = fork(hazard, "--guarded")
    assert ran.verdict in (Verdict.CLEAN, Verdict.SKIPPED), ran.reason


def test_a_script_that_needs_a_gpu_says_so_where_there_is_none() -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("torch sees a GPU")
    for hazard in HAZARDS:
        if hazard.device == "cuda":
            ran = run(hazard)
            assert ran.verdict is Verdict.SKIPPED, (hazard.slug, ran.reason)
            assert "GPU" in ran.reason
            return
