"""Whole trials in this process: threads compute what the oracle computes, failures stay apart.

In-process trials must not race, so compiled attention is only run under ``whole_step`` here;
what races do is shown by trials in processes of their own.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from fxrace.probe.attach import attached
from fxrace.records.event import Trace
from fxrace.records.trial import Trial
from harness.execution.oracle import LIMIT, limitless
from harness.freeze import EVERY_CALL
from tests.unit.harness_threads.trials import losses, part_file, run_trial
from tests.unit.probe.recording import Recording, Side

DENSE = {"attention": "dense"}
# Summation order may differ from run to run on the CPU (buffer alignment); over these four steps
# dense attention showed 0 and flex 3e-6, relative.
TOLERANCE = 5e-5

FAILS_LATER = '''"""Drafter 1 fails in its second step."""
from fxrace.probe.part import Part
from harness.contracts import Phase

class Fails:
    def __init__(self):
        self.steps = 0

    def around(self, call, work):
        if call.site == "step" and call.drafter == 1:
            self.steps += 1
            if self.steps == 2:
                raise ValueError("planted")
        return work()

    def close(self):
        pass

part = Part(build=Fails)
'''
REFUSES = '''"""Runs nowhere."""
from fxrace.probe.part import Part

part = Part(build=object, refuse=lambda device_type: f"not on {device_type}")
'''


def kinds(trace: Trace) -> set[str]:
    return {event.kind for event in trace.events}


@pytest.mark.parametrize("targets", [1, 3])
def test_threads_compute_what_the_oracle_computes(tmp_path: Path, targets: int) -> None:
    oracle = run_trial(tmp_path, {**DENSE, "execution": "oracle"}, drafters=3)
    threads = run_trial(tmp_path, DENSE, drafters=3, targets=targets)
    assert len(losses(oracle)) == 3 * 4
    assert losses(threads) == pytest.approx(losses(oracle), rel=TOLERANCE)
    assert "raised" not in kinds(oracle) | kinds(threads)


@pytest.mark.parametrize("limit", [256, 1])
def test_the_oracle_never_runs_dense_for_want_of_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    """A reference of other kernels than its trials' would be none. The limit is what keeps it."""
    monkeypatch.setattr("harness.execution.oracle.LIMIT", limit)
    trace = run_trial(tmp_path, {**DENSE, "attention": "flex", "execution": "oracle"})
    (told,) = trace.of("attention")
    assert any(told.data["dense"].values()) is (limit == 1)


def test_the_oracles_limit_holds_for_every_thread_and_is_nobodys_setting(tmp_path: Path) -> None:
    """As autograd's device thread on a GPU, which compiles what runs in backward."""
    from torch._dynamo import config
    from torch._dynamo.utils import disable_cache_limit

    recording, default = Recording(tmp_path), Side(lambda: config.recompile_limit).result()
    watched = Trial(target="t:run", knobs={"pressure": "none"})
    with config.patch(recompile_limit=9), attached(watched, recording.recorder):
        with limitless():
            assert Side(lambda: config.recompile_limit, name="Dummy-1").result() == LIMIT
            Side(lambda: torch.compile(torch.neg, backend="eager")(torch.ones(2))).result()
            with disable_cache_limit():
                assert config.recompile_limit > LIMIT
            assert config.recompile_limit == LIMIT
        assert config.recompile_limit == 9
    assert recording.of("region") and not recording.of("config")
    assert Side(lambda: config.recompile_limit).result() == default != LIMIT


def test_flex_in_threads_computes_what_the_dense_oracle_computes(tmp_path: Path) -> None:
    oracle = run_trial(tmp_path, {**DENSE, "execution": "oracle"})
    threads = run_trial(tmp_path, {"attention": "flex", "locking": "whole_step"})
    assert losses(threads) == pytest.approx(losses(oracle), rel=TOLERANCE)
    attention = threads.last("attention")
    assert attention is not None
    assert attention.data == {"calls": {"drafter-0": 4, "drafter-1": 4}, "dense": {}, "fused": True}


def test_another_seed_computes_something_else(tmp_path: Path) -> None:
    one, two = (run_trial(tmp_path, DENSE, drafters=d) for d in (1, 2))
    assert losses(one)[0, 0] == pytest.approx(losses(two)[0, 0], rel=TOLERANCE)
    assert losses(two)[0, 0] != pytest.approx(losses(two)[1, 0], rel=TOLERANCE)
    assert losses(one)[0, 1] != pytest.approx(losses(two)[0, 1], rel=TOLERANCE)  # other routing


def test_what_a_trial_records(tmp_path: Path) -> None:
    trace = run_trial(tmp_path, DENSE, steps=3)
    assert [e.data["name"] for e in trace.of("phase")] == ["warmup", "run"]
    step = next(e for e in trace.of("step") if e.data["drafter"] == 1 and e.data["step"] == 1)
    assert step.thread == "drafter-1"
    assert (step.data["context"], step.data["rows"], step.data["anchors"]) == (48, 2, 8)
    assert step.data["context_tokens"] == 96
    assert 0 < step.data["slots"] <= 8 * 7
    summary = trace.last("summary")
    assert summary is not None
    assert (summary.data["steps"], summary.data["drafters_done"]) == (6, 2)
    assert summary.data["oversubscribed"] is True and summary.data["mfu"] is None
    assert all(summary.data[rate] > 0 for rate in ("draft_slots_per_s", "rows_per_s", "tflops"))


def test_a_drafter_that_fails_stops_nobody_else(tmp_path: Path) -> None:
    part_file(tmp_path, "locking", "fails", FAILS_LATER)
    for execution in ("threads", "oracle"):
        trace = run_trial(tmp_path, {**DENSE, "locking": "fails", "execution": execution})
        assert [e.data["role"] for e in trace.of("raised")] == ["drafter-1"]
        assert sorted(losses(trace)) == [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0)]
        summary = trace.last("summary")
        assert summary is not None and summary.data["drafters_done"] == 1


def test_a_target_that_fails_stops_everything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from harness.roles import Feeder

    make = Feeder.make

    def breaks(self: Feeder, number: int, step: int) -> object:
        if number == 3:
            raise OSError("planted")
        return make(self, number, step)

    monkeypatch.setattr(Feeder, "make", breaks)
    trace = run_trial(tmp_path, DENSE, targets=2)
    (event,) = trace.of("raised")
    assert event.data["role"] == "target-1"
    assert event.data["error"]["frames"][-1][2] == "breaks"
    assert len(losses(trace)) < 8


@pytest.mark.parametrize("axis", ["locking", "attention", "warmup", "execution"])
def test_a_broken_part_ends_the_trial_quietly(tmp_path: Path, axis: str) -> None:
    part_file(tmp_path, axis, "bad", "import surely_not_there")
    trace = run_trial(tmp_path, {**DENSE, axis: "bad"})
    assert [e.data["part"] for e in trace.of("broken")] == [f"{axis}=bad"]
    assert kinds(trace) == {"broken"}


def test_a_part_that_cannot_be_built_is_broken(tmp_path: Path) -> None:
    part_file(
        tmp_path, "warmup", "bad", "from fxrace.probe.part import Part\npart = Part(build=[].pop)"
    )
    trace = run_trial(tmp_path, {**DENSE, "warmup": "bad"})
    assert [e.data["part"] for e in trace.of("broken")] == ["warmup=bad"]


def test_a_part_that_refuses_the_device_is_skipped(tmp_path: Path) -> None:
    part_file(tmp_path, "locking", "refuses", REFUSES)
    trace = run_trial(tmp_path, {**DENSE, "locking": "refuses"})
    assert [e.data["reason"] for e in trace.of("skipped")] == ["locking: not on cpu"]
    assert kinds(trace) == {"skipped"}


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_a_device_that_is_not_there_is_skipped(tmp_path: Path) -> None:
    assert kinds(run_trial(tmp_path, DENSE, device="cuda")) == {"skipped"}


def test_documents_apart_reach_every_role(tmp_path: Path) -> None:
    file = tmp_path / "documents.jsonl"
    file.write_text("\n".join(json.dumps({"tokens": [n] * 9 + [59]}) for n in range(20)))
    given = {"data": str(file), "documents": "apart"}
    trace = run_trial(tmp_path, {"attention": "dense"}, drafters=2, steps=2, **given)
    joined = run_trial(tmp_path, {"attention": "dense"}, drafters=2, steps=2, data=str(file))
    assert not list(trace.of("raised", "broken"))
    # Rows of at least 32 tokens of which ten are a document's.
    assert all(event.data["slots"] > 0 for event in trace.of("step"))
    assert sum(e.data["slots"] for e in trace.of("step")) < sum(
        e.data["slots"] for e in joined.of("step")
    )
    (broken,) = run_trial(tmp_path, {}, data="zipf", documents="apart").of("broken")
    assert broken.data["part"] == "data=zipf"


def test_freeze_holds_after_a_warm_up_and_refuses_without(tmp_path: Path) -> None:
    knobs = {"attention": "flex", "locking": "whole_step"}
    warm = run_trial(tmp_path, {**knobs, "warmup": "main_thread"}, freeze=True, drafters=1)
    assert "raised" not in kinds(warm) and len(losses(warm)) == 4
    cold = run_trial(tmp_path, knobs, freeze=True, drafters=1)
    (event,) = cold.of("raised")
    assert "fail_on_recompile" in event.data["error"]["message"]
    assert torch._dynamo.eval_frame._stance.stance == "default"


def test_freeze_says_that_eager_attention_escapes_it(tmp_path: Path) -> None:
    knobs = {"attention": "flex_eager", "locking": "whole_step", "warmup": "main_thread"}
    trace = run_trial(tmp_path, knobs, freeze=True, drafters=1)
    assert EVERY_CALL in [e.data["text"] for e in trace.of("note")]
    attention = trace.last("attention")
    assert attention is not None and attention.data["dense"] == attention.data["calls"]
    assert len(losses(trace)) == 4


def test_one_compiler_thread_makes_every_call_of_eager_attention(tmp_path: Path) -> None:
    knobs = {"attention": "flex_eager", "locking": "one_compiler_thread", "execution": "oracle"}
    attention = run_trial(tmp_path, knobs, drafters=1).last("attention")
    # Four steps, and a look at either row length beforehand (self_check).
    assert attention is not None and attention.data["calls"] == {"compiler": 4 + 2}
