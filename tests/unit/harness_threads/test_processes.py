"""Slots in processes: a death in any of them is on record, stops those who shall, in time.

Times are the trial's own: from the record of the failure to that of the last process's end.
"""

from __future__ import annotations

import multiprocessing
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fxrace.records.event import Trace
from harness.channel import Stopped
from harness.devices import place
from harness.processes import worker
from harness.recipes.tiny import preset as tiny
from tests.unit.harness_threads.trials import losses, part_file, run_trial

FAILS = '''"""Drafter 1 ends in its second step."""
import os
import time
import torch
from fxrace.probe.part import Part

class Fails:
    def __init__(self):
        self.steps = 0

    def around(self, call, work):
        if call.site == "step":
            self.steps += 1
            if self.steps == 2:
                {1: one, 0: other}[call.drafter]()
        return work()

    def close(self):
        pass

def one():
    ONE

def other():
    OTHER

part = Part(build=Fails)
'''
LACKS = '''"""The target lacks memory in its fifth batch, once drafter 0 is where it cannot hear."""
import time
from pathlib import Path
import torch
from fxrace.probe.part import Part
from harness.precision.native import build as native

class Lacks:
    def __init__(self, formats):
        self._formats = formats

    def __getattr__(self, name):
        return getattr(self._formats, name)

    def target(self, target):
        made, features = [], target.features

        def lacking(input_ids):
            made.append(1)
            if len(made) == 5:
                last = time.monotonic() + 60
                while not Path("MARK").exists() and time.monotonic() < last:
                    time.sleep(0.01)
                raise torch.OutOfMemoryError("planted: out of memory")
            return features(input_ids)

        target.features = lacking
        return target

part = Part(build=lambda: Lacks(native()))
'''
ENDINGS = {
    "raises": 'raise ValueError("planted")',
    "lacks_memory": 'raise torch.OutOfMemoryError("planted")',
    "is_killed": "os.kill(os.getpid(), 9)",
}
TYPES = {
    "raises": "ValueError", "lacks_memory": "torch.OutOfMemoryError",
    "is_killed": "ChildProcessError",
}  # fmt: skip
KNOBS = {"attention": "dense", "execution": "processes"}
ROLES = {"drafter-0", "drafter-1", "target-0"}
WITHIN_S = 2.0

pytestmark = pytest.mark.slow


def fails(root: Path, one: str, other: str = "pass") -> None:
    text = FAILS.replace("ONE", one).replace("OTHER", other)
    part_file(root, "locking", "fails", text)


def ended(trace: Trace) -> dict[str, str]:
    """How each process ended; all of them in time after the first failure."""
    events = list(trace.of("ended"))
    first_s = min(event.at_s for event in trace.of("raised"))
    assert max(event.at_s for event in events) - first_s < WITHIN_S
    assert not multiprocessing.active_children()
    return {event.data["role"]: event.data["how"] for event in events}


@pytest.mark.parametrize("how", ENDINGS)
def test_when_drafters_share_one_that_ends_stops_all(tmp_path: Path, how: str) -> None:
    fails(tmp_path, ENDINGS[how])
    trace = run_trial(tmp_path, {**KNOBS, "locking": "fails", "sync": "mean"}, steps=300)
    raised = {e.data["role"]: e.data["error"]["type"] for e in trace.of("raised")}
    assert raised.pop("drafter-1") == TYPES[how]
    # The other one may have noticed that its group broke before it was told to stop.
    assert set(raised) <= {"drafter-0"}
    assert len(losses(trace)) < 10
    end = trace.last("summary")
    assert end is not None and end.data["drafters_done"] == 0
    assert set(ended(trace)) == ROLES


def test_a_target_without_memory_stops_all_also_who_does_not_listen(tmp_path: Path) -> None:
    mark = str(tmp_path / "asleep")
    fails(tmp_path, "pass", f"open({mark!r}, 'w').close(); time.sleep(600)")
    part_file(tmp_path, "precision", "lacks", LACKS.replace("MARK", mark))
    knobs = {**KNOBS, "locking": "fails", "precision": "lacks"}
    trace = run_trial(tmp_path, knobs, steps=300)
    raised = {e.data["role"]: e.data["error"]["type"] for e in trace.of("raised")}
    assert raised == {"target-0": TYPES["lacks_memory"]}
    how = ended(trace)
    assert how.pop("drafter-0") == "killed"
    assert how == {"drafter-1": "stopped", "target-0": "raised"}


class Broken:
    """A lane whose target has ended: what lay in it cannot be had any more."""

    def get(self, timeout: float) -> object:
        raise ConnectionResetError("planted")


@pytest.mark.parametrize("heard", [True, False])
def test_what_a_dead_target_had_sent_is_its_failure_and_not_the_drafters(
    monkeypatch: pytest.MonkeyPatch, heard: bool
) -> None:
    """Unless nobody says that a target has ended; then it is what it looks like."""
    monkeypatch.setattr(worker, "NEWS_S", 20.0 if heard else 0.01)
    plan = place(tiny, ("cpu",), targets=1, drafters=1, seed=0, steps=3, freeze=False)
    stop = threading.Event()
    order: Any = SimpleNamespace(plan=plan, index=0)
    links: Any = SimpleNamespace(lanes=((Broken(),),), stop=stop)
    if heard:
        threading.Timer(0.05, stop.set).start()
    with pytest.raises(Stopped if heard else ConnectionResetError):
        worker._Lanes(order, links).get()


def test_an_independent_drafter_stops_all_when_asked_to(tmp_path: Path) -> None:
    fails(tmp_path, ENDINGS["raises"])
    trace = run_trial(tmp_path, {**KNOBS, "locking": "fails"}, steps=3000, fail_fast=True)
    assert [e.data["role"] for e in trace.of("raised")] == ["drafter-1"]
    assert ended(trace) == {"drafter-0": "stopped", "drafter-1": "raised", "target-0": "stopped"}


def test_independent_drafters_go_on(tmp_path: Path) -> None:
    """The green twin: who survives a race is what a sweep wants to know."""
    fails(tmp_path, ENDINGS["is_killed"])
    trace = run_trial(tmp_path, {**KNOBS, "locking": "fails"}, steps=4)
    assert [e.data["role"] for e in trace.of("raised")] == ["drafter-1"]
    assert sorted(losses(trace)) == [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0)]
    how = {event.data["role"]: event.data["how"] for event in trace.of("ended")}
    assert how == {"drafter-0": "done", "drafter-1": "killed", "target-0": "done"}
    end = trace.last("summary")
    assert end is not None
    (speed,) = end.data["drafters"]
    assert (speed["drafter"], speed["queue_full_s"]) == (0, None)
    assert speed["draft_slots_per_s"] == pytest.approx(end.data["draft_slots_per_s"])
