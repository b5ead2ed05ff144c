"""Where each drafter's time goes: the arithmetic, and trials with one slow thing each."""

from __future__ import annotations

import pickle
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from fxrace.core.bottleneck import SOME, Cause, bottleneck
from fxrace.records.event import Trace
from fxrace.records.outcome import DrafterSpeed
from harness.devices import place
from harness.figures import stall
from harness.figures.summary import speed_of, summarise
from harness.processes.orders import Finished
from harness.processes.worker import _Lane
from harness.recipes.tiny import preset
from harness.roles import Feeder, Parcel, Turn
from tests.unit.harness_threads.trials import part_file, run_trial

DENSE = {"attention": "dense"}
SLOW_S = 0.25
"""Several steps of the preset: what is measured here is a length of time."""
WAITS = '''"""A while passes before each step of a drafter, or once it has begun."""
import time
from fxrace.probe.part import Part

class Waits:
    def around(self, call, work):
        pauses = [0.0, SLOW] if INSIDE else [SLOW, 0.0]
        before, after = pauses if call.site == "step" else (0.0, 0.0)
        time.sleep(before)
        result = work()
        time.sleep(after)
        return result

    def close(self):
        pass

part = Part(build=Waits)
'''


def turn(began_s: float, length_s: float, *, compiled: bool = False, **waits: float) -> Turn:
    return Turn(
        began_s=began_s, ended_s=began_s + length_s, slots=10, context=64, compiled=compiled,
        **waits,
    )  # fmt: skip


WAITING = [
    turn(0, 9, queue_s=9.0),
    turn(9, 5, compiled=True, lock_wait_s=5.0),
    turn(14, 1, queue_s=0.7, handoff_s=0.01, lock_wait_s=0.1),
    turn(15, 3, queue_s=1.7, handoff_s=0.03, lock_wait_s=0.3),
    turn(18, 2, queue_s=0.6, handoff_s=0.02, lock_wait_s=0.0),
]
BUSY = [turn(n, 1) for n in range(5)]


def speeds(*turns: list[Turn], steps: int = 5) -> tuple[DrafterSpeed, ...]:
    drafters = max(1, len(turns))
    plan = place(
        preset, ("cpu",), targets=1, drafters=drafters, seed=0, steps=steps, freeze=False
    )  # fmt: skip
    return summarise(plan, turns).drafters


def test_one_that_waits_and_one_that_does_not() -> None:
    """Neither the first step nor one that compiled counts, however long it waited."""
    waits, works = speeds(WAITING, BUSY)
    assert waits == DrafterSpeed(
        drafter=0, draft_slots_per_s=5.0, step_ms=2000.0, queue_wait=0.5,
        lock_wait=pytest.approx(0.4 / 6, abs=1e-4), handoff_ms=20.0,
    )  # fmt: skip
    assert works == DrafterSpeed(
        drafter=1, draft_slots_per_s=10.0, step_ms=1000.0, queue_wait=0.0, lock_wait=0.0,
        handoff_ms=0.0,
    )  # fmt: skip


def test_a_lone_drafter_is_as_fast_as_its_trial() -> None:
    plan = place(preset, ("cpu",), targets=1, drafters=1, seed=0, steps=5, freeze=False)
    found = summarise(plan, [WAITING])
    assert found.drafters[0].draft_slots_per_s == found.draft_slots_per_s


def test_only_who_finished_has_a_speed() -> None:
    assert [one.drafter for one in speeds(BUSY[:3], BUSY)] == [1]
    assert speeds() == speeds([], steps=0) == ()


def test_shares_are_shares_whatever_the_clocks_say() -> None:
    odd = speed_of(0, [turn(0, 1, queue_s=1.2, lock_wait_s=-0.1)])
    assert (odd.queue_wait, odd.lock_wait) == (1.0, 0.0)
    assert speed_of(0, [turn(0, 0)]).draft_slots_per_s == 0.0


def measured(trace: Trace) -> list[DrafterSpeed]:
    assert not list(trace.of("raised", "broken"))
    (event,) = trace.of("summary")
    return [DrafterSpeed(**one) for one in event.data["drafters"]]


def test_a_slow_target_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make = Feeder.make

    def slow(self: Feeder, number: int, step: int) -> Parcel:
        time.sleep(SLOW_S)
        return make(self, number, step)

    monkeypatch.setattr(Feeder, "make", slow)
    found = measured(run_trial(tmp_path, DENSE, steps=4))
    assert bottleneck(found).cause is Cause.TARGETS
    assert all(one.queue_wait > SOME > one.lock_wait for one in found)


@pytest.mark.parametrize(("inside", "cause"), [(False, Cause.LOCKS), (True, Cause.DRAFTERS)])
def test_a_slow_lock_and_a_slow_step(tmp_path: Path, inside: bool, cause: Cause) -> None:
    """The green twin, where nobody waits: the same time passes in the step itself."""
    text = WAITS.replace("SLOW", str(SLOW_S)).replace("INSIDE", str(inside))
    part_file(tmp_path, "locking", "waits", text)
    found = measured(run_trial(tmp_path, {**DENSE, "locking": "waits"}, steps=4))
    assert bottleneck(found).cause is cause
    assert all((one.lock_wait > SOME) is not inside for one in found)
    assert all(one.queue_wait < SOME for one in found)


def test_in_the_oracle_the_others_are_waited_for(tmp_path: Path) -> None:
    found = measured(run_trial(tmp_path, {**DENSE, "execution": "oracle"}, steps=4))
    assert [one.drafter for one in found] == [0, 1]
    assert all(one.queue_wait > SOME for one in found)


class _Clock:
    """CUDA as far as a stall asks it: events get the time of ``now``, in milliseconds."""

    def __init__(self) -> None:
        self.now, self.behind = 0.0, False
        self.cuda = SimpleNamespace(
            Event=lambda enable_timing: _Stamp(self), Stream=lambda device: "aside",
            current_stream=lambda device: self,
        )  # fmt: skip

    def wait_event(self, ready: float) -> None:
        self.now = max(self.now, ready)


class _Stamp:
    def __init__(self, clock: _Clock) -> None:
        self._clock, self.at = clock, 0.0

    def record(self, stream: Any) -> None:
        self.at = self._clock.now

    def elapsed_time(self, later: _Stamp) -> float:
        return later.at - self.at

    def query(self) -> bool:
        return not self._clock.behind


def test_features_handed_over_before_they_exist_are_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = _Clock()
    monkeypatch.setattr(stall, "torch", clock)
    waits = stall.Stall(torch.device("cuda", 0))
    waits.begin(250.0)
    assert waits.seconds() == 0.25
    waits.begin(100.0)
    assert waits.seconds() == 0.0
    waits.begin(900.0)
    assert waits.seconds() == 0.65
    clock.behind = True
    assert waits.seconds() == 0.0
    waits.begin(None)
    assert waits.seconds() == 0.0
    host = stall.Stall(torch.device("cpu"))
    host.begin(2000.0)
    assert host.seconds() == 0.0


def test_features_for_another_process_are_there_when_their_kernels_are_done() -> None:
    put: list[Any] = []
    lane = SimpleNamespace(put=lambda item, timeout: put.append(item))
    unset = SimpleNamespace(is_set=lambda: False)
    done_s: list[float] = []
    ready = SimpleNamespace(synchronize=lambda: done_s.append(time.monotonic()))
    batch: Any = "batch"
    for made in (Parcel(batch=batch, made_s=1.0), Parcel(batch=batch, made_s=1.0, ready=ready)):
        assert _Lane(lane, unset, unset).put(0, made)
    (_, on_host), (_, on_device) = put
    assert on_host == 1.0
    assert on_device >= done_s[0] > 1.0


def test_waits_cross_the_border_between_processes() -> None:
    sent = Finished(turns=tuple(WAITING), peak_memory_bytes=1)
    assert pickle.loads(pickle.dumps(sent)).turns == tuple(WAITING)
