"""Whole trials on one and two GPUs: graphs captured while other threads launch, processes.

Everything is compared with the single-threaded run of the same parts on the same GPU.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import median

import pytest
import torch

from fxrace.core.bottleneck import SOME
from fxrace.records.event import Trace
from harness.config import DEFAULT_KNOBS
from harness.model.target import Target
from tests.conformance.folder import names
from tests.conformance.test_training import curve
from tests.unit.harness_threads.trials import run_trial

pytestmark = [pytest.mark.gpu, pytest.mark.slow]
KNOBS = {**DEFAULT_KNOBS, "attention": "dense"}
FAST = {"attention": "flex_isolated", "layers": "compiled", "loss": "fused_linear_ce"}
STEPS = 8
"""Two row lengths: each runs live twice, is captured once and replayed once."""
LAG_S = 0.04
"""A little less than what 10**8 cycles last on the fastest GPU."""
NEAR = 0.05
"""bf16 losses and gradient norms after a few updates whose roundings differ."""


@pytest.fixture(params=[1, 2], ids=["one_gpu", "two_gpus"])
def gpus(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many GPUs the trial may use; drafters share the one, or have one each."""
    count: int = request.param
    if torch.cuda.device_count() < count:
        pytest.skip(f"needs {count} CUDA devices; torch sees {torch.cuda.device_count()}")
    devices = tuple(f"cuda:{index}" for index in range(count))
    monkeypatch.setattr("harness.trial.devices_of", lambda _: devices)
    return count


def trial(root: Path, steps: int = STEPS, **knobs: str) -> Trace:
    return run_trial(
        root, {**KNOBS, **knobs}, device="cuda", drafters=2, targets=1, steps=steps
    )  # fmt: skip


def causes(trace: Trace) -> list[str]:
    """What ended roles early, in words."""
    return [f"{e.data['role']}: {e.data['error']['type']} {e.data['error']['message']}"
            for e in trace.of("raised")]  # fmt: skip


def test_a_target_that_lags_behind_its_host_is_waited_for(
    tmp_path: Path, gpus: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its host hands features over at once; without the lag the same run hardly stands still."""
    assert gpus
    prompt = trial(tmp_path)
    features = Target.features

    def lagging(self: Target, input_ids: torch.Tensor) -> torch.Tensor:
        with torch.cuda.device(input_ids.device):
            torch.cuda._sleep(10**8)
        return features(self, input_ids)

    monkeypatch.setattr(Target, "features", lagging)
    late = trial(tmp_path)
    assert not causes(prompt) and not causes(late)
    stalls = [median(e.data["stall_s"] for e in one.of("step")) for one in (prompt, late)]
    assert stalls[0] < LAG_S / 2 < stalls[1]
    end = late.last("summary")
    assert end is not None
    assert all(one["queue_wait"] > SOME for one in end.data["drafters"])


@pytest.mark.parametrize("sync", names("sync"))
def test_processes_compute_what_the_oracle_does(tmp_path: Path, gpus: int, sync: str) -> None:
    """One GPU: features by CUDA IPC, sums by gloo. Two: another device's memory, and NCCL."""
    if sync == "one_coordinator":
        pytest.skip("one_coordinator is a thread; processes add up in their group, as mean does")
    wanted = curve(trial(tmp_path, steps=4, execution="oracle", sync=sync))
    got = trial(tmp_path, steps=4, execution="processes", sync=sync)
    assert not causes(got)
    assert not list(got.of("broken", "skipped"))
    assert curve(got) == pytest.approx(wanted, rel=NEAR)
    assert len(wanted) == 2 * 4 * 2


@pytest.mark.parametrize("sync", names("sync"))
def test_threads_compute_what_the_oracle_does(tmp_path: Path, gpus: int, sync: str) -> None:
    """Two GPUs and the coordinator: NCCL in one process."""
    wanted = curve(trial(tmp_path, steps=4, execution="oracle", sync=sync))
    got = trial(tmp_path, steps=4, sync=sync)
    assert not causes(got)
    assert curve(got) == pytest.approx(wanted, rel=NEAR)


@pytest.mark.parametrize("fast", [False, True], ids=["plain", "fast_path"])
def test_two_threads_capture_and_replay(tmp_path: Path, gpus: int, fast: bool) -> None:
    """Each captures while the other, and the target, launch on the same GPU or another.

    Under guards: with a lock round the first call alone the compiles themselves race.
    """
    parts = {**(FAST if fast else {}), "locking": "guard_one_owner_no_circle"}
    wanted = curve(trial(tmp_path, **parts, execution="oracle"))
    got = trial(tmp_path, **parts, cudagraphs="manual")
    assert not causes(got)
    assert curve(got) == pytest.approx(wanted, rel=NEAR)


def test_what_was_compiled_before_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first run makes the cache, the second finds it; both compute what the oracle does."""
    monkeypatch.setenv("FXRACE_CACHE", str(tmp_path / "kept"))
    parts = {**FAST, "locking": "whole_step"}
    wanted = curve(trial(tmp_path, **parts, steps=4, execution="oracle"))
    for when in ("new", "of before"):
        got = trial(tmp_path, **parts, steps=4, warmup="compile_cache")
        assert not causes(got)
        assert curve(got) == pytest.approx(wanted, rel=NEAR)
        said = [e.data["text"] for e in got.of("note") if "compile cache" in e.data["text"]]
        assert len(said) == 1 and said[0].endswith(when), said


@pytest.mark.parametrize("execution", ["oracle", "threads"])
def test_each_drafter_on_inductors_graphs_is_right_or_says_why_not(
    tmp_path: Path, execution: str, record_property: Callable[[str, object], None]
) -> None:
    """Nothing is promised for ``reduce_overhead``; silence about what it did would be a fault."""
    parts = {**FAST, "locking": "exec_lock"}
    wanted = curve(trial(tmp_path, **parts, execution="oracle"))
    got = trial(tmp_path, **parts, execution=execution, cudagraphs="reduce_overhead")
    failed = {event.data["role"] for event in got.of("raised")}
    record_property("raised", "; ".join(causes(got)) or "nothing")
    print(execution, *causes(got), sep="\n")
    mine = curve(got)
    assert mine == pytest.approx({key: wanted[key] for key in mine}, rel=NEAR)
    through = {drafter for drafter, step, _ in mine if step == STEPS - 1}
    assert failed | {f"drafter-{drafter}" for drafter in through} >= {"drafter-0", "drafter-1"}
    assert not failed & {f"drafter-{drafter}" for drafter in through}
