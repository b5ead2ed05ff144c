"""The same command on a GPU: real kernels, autograd's device threads, compiled flex attention."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.acceptance.sweeping import axes, fxrace

pytestmark = [pytest.mark.gpu, pytest.mark.slow]


@pytest.mark.parametrize("attention", ["flex", "flex_eager"])
def test_a_lock_round_every_step_survives_on_a_gpu(tmp_path: Path, attention: str) -> None:
    ran = fxrace(
        "sweep", "--gpus", "8", "--device", "cuda", "--json",
        *axes(locking="whole_step", checkpoint="reentrant", attention=attention),
        cwd=tmp_path,
    )  # fmt: skip
    assert ran.status == 0, ran.stderr
    (cell,) = ran.document["cells"]
    assert cell["verdicts"] == {"CLEAN": 1}
    assert ran.document["environment"]["gpus"]


def test_without_a_lock_a_gpu_run_does_not_survive(tmp_path: Path) -> None:
    ran = fxrace(
        "sweep", "--gpus", "8", "--device", "cuda", "--json",
        *axes(locking="none", attention="flex_eager", pressure="hold"),
        cwd=tmp_path,
    )  # fmt: skip
    assert ran.status == 0, ran.stderr
    (cell,) = ran.document["cells"]
    assert cell["failure_rate"]["k"] == 1
