"""Slots in processes: a death in any of them is on record, and none outlives the trial."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import pytest

from tests.unit.harness_threads.trials import losses, part_file, run_trial

FAILS = '''"""Drafter 1 ends in its second step."""
import os
from fxrace.probe.part import Part

class Fails:
    def __init__(self):
        self.steps = 0

    def around(self, call, work):
        if call.site == "step" and call.drafter == 1:
            self.steps += 1
            if self.steps == 2:
                HOW
        return work()

    def close(self):
        pass

part = Part(build=Fails)
'''
ENDINGS = {"raises": 'raise ValueError("planted")', "is_killed": "os.kill(os.getpid(), 9)"}
TYPES = {"raises": "ValueError", "is_killed": "ChildProcessError"}
KNOBS = {"attention": "dense", "execution": "processes"}

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("how", ENDINGS)
def test_when_drafters_share_one_that_ends_stops_all(tmp_path: Path, how: str) -> None:
    part_file(tmp_path, "locking", "fails", FAILS.replace("HOW", ENDINGS[how]))
    trace = run_trial(tmp_path, {**KNOBS, "locking": "fails", "sync": "mean"}, steps=300)
    raised = {e.data["role"]: e.data["error"]["type"] for e in trace.of("raised")}
    assert raised.pop("drafter-1") == TYPES[how]
    # The other one may have noticed that its group broke before it was told to stop.
    assert set(raised) <= {"drafter-0"}
    assert len(losses(trace)) < 10
    end = trace.last("summary")
    assert end is not None and end.data["drafters_done"] == 0
    assert not multiprocessing.active_children()


def test_independent_drafters_go_on(tmp_path: Path) -> None:
    part_file(tmp_path, "locking", "fails", FAILS.replace("HOW", ENDINGS["is_killed"]))
    trace = run_trial(tmp_path, {**KNOBS, "locking": "fails"}, steps=4)
    assert [e.data["role"] for e in trace.of("raised")] == ["drafter-1"]
    assert sorted(losses(trace)) == [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0)]
