"""Every script, both twins, once, under the torch that is installed: as its header has it.

One test per process, so that they can be spread over workers (``-n``); a GPU script skips itself
where there is no GPU, and then says why.
"""

from __future__ import annotations

import importlib.metadata
import sys
from pathlib import Path

import pytest

from fxrace.catalog.hazards import read_hazards, script_of
from fxrace.core.repro_judge import judge, row_of, run_of
from fxrace.launch.script import run_script
from fxrace.records.hazard import Hazard
from fxrace.records.outcome import Verdict
from fxrace.records.repro import Judgement, ScriptRun

ROOT = Path(__file__).parents[2]
HAZARDS = read_hazards(ROOT).hazards
TORCH = importlib.metadata.version("torch")


def cases() -> list[object]:
    return [
        pytest.param(h, marks=pytest.mark.gpu if h.device == "cuda" else (), id=h.slug)
        for h in HAZARDS
    ]


def run(hazard: Hazard, *arguments: str) -> ScriptRun:
    end = run_script(
        Path(sys.executable),
        script_of(ROOT, hazard.slug),
        *arguments,
        timeout_s=hazard.timeout_s,
        give_up=lambda: False,
    )
    return run_of(end, timeout_s=hazard.timeout_s)


@pytest.mark.parametrize("hazard", cases())
def test_racy_twin(hazard: Hazard) -> None:
    ran = run(hazard)
    racy, unrun = row_of([ran], wanted=hazard.racy), row_of([], wanted=Verdict.CLEAN)
    judgement, reason = judge(hazard, TORCH, racy, unrun)
    assert judgement in (Judgement.REPRODUCED, Judgement.NOT_APPLICABLE), reason
    assert "the header says" not in reason


@pytest.mark.parametrize("hazard", cases())
def test_guarded_twin(hazard: Hazard) -> None:
    ran = run(hazard, "--guarded")
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
