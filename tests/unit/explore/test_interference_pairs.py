"""Whole pairs with planted faults, each with its green twin; one process for all of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
PAIRS = {
    "borrow": ("read", "innocent", "borrow", "wait_for_ever"),
    "borrow_locked": ("read_locked",),
    "hide": ("see",),
}
_RUN = """
import sys
from pathlib import Path
import torch, torch._dynamo.convert_frame
from fxrace.probe.explore import pair
from fxrace.probe.recorder import Recorder
from fxrace.records.trial import Trial
recorder = Recorder(Path(sys.argv[1]))
for given in sys.argv[2:]:
    a, b = given.split("=")
    pair.run(Trial(target="", knobs={"a": a, "b": b}), recorder)
"""
PLANTED = "tests.unit.explore.planted"


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    record = tmp_path_factory.mktemp("pairs") / "events.jsonl"
    given = [
        f"{PLANTED}:{a}=" + ",".join(f"{PLANTED}:{b}" for b in others)
        for a, others in PAIRS.items()
    ]
    ran = subprocess.run(
        [sys.executable, "-c", _RUN, str(record), *given],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    return [json.loads(line) for line in record.read_text().splitlines()]


def told(events: list[dict[str, Any]], kind: str, a: str, b: str) -> list[dict[str, Any]]:
    names = (f"{PLANTED}:{a}", f"{PLANTED}:{b}")
    found = [event["data"] for event in events if event["kind"] == kind]
    return [data for data in found if (data["a"], data["b"]) == names]


def test_every_pair_is_told_once(events: list[dict[str, Any]]) -> None:
    for a, others in PAIRS.items():
        for b in others:
            assert len(told(events, "pair", a, b)) == 1


def test_a_reader_of_a_borrowed_state_is_found_and_the_state_is_proved(
    events: list[dict[str, Any]],
) -> None:
    (found,) = told(events, "difference", "borrow", "read")
    assert (found["wrong"], found["state"], found["proof"]) == ("b", "checkpoint.debug", "healed")
    assert found["value"] == {"before": "None", "during": "True", "after": "True"}
    assert found["shown"] == {"k": 3, "n": 3}
    assert found["count"] == 2
    assert any("planted.py" in frame[0] for frame in found["frames"]["a"])


def test_who_reads_nothing_borrowed_is_safe_at_every_point(events: list[dict[str, Any]]) -> None:
    assert told(events, "difference", "borrow", "innocent") == []
    (pair,) = told(events, "pair", "borrow", "innocent")
    assert pair["verdict"] == "safe"
    assert pair["exhausted"]
    assert pair["stopped"] == pair["points"] > 1


def test_two_that_overlap_without_nesting_leave_the_state_behind(
    events: list[dict[str, Any]],
) -> None:
    found = told(events, "difference", "borrow", "borrow")
    assert [(one["wrong"], one["state"], one["b_point"] != "") for one in found] == [
        ("quiescent", "checkpoint.debug", True)
    ]


def test_waiting_for_a_lock_is_no_fault(events: list[dict[str, Any]]) -> None:
    assert told(events, "difference", "borrow_locked", "read_locked") == []
    (pair,) = told(events, "pair", "borrow_locked", "read_locked")
    assert pair["blocked"] > 0
    assert not pair["exhausted"]


def test_what_never_ends_is_hung(events: list[dict[str, Any]]) -> None:
    found = told(events, "difference", "borrow", "wait_for_ever")
    assert {one["wrong"] for one in found} == {"hung"}


def test_a_state_that_the_registry_lacks_is_named(events: list[dict[str, Any]]) -> None:
    (found,) = told(events, "difference", "hide", "see")
    assert (found["state"], found["proof"]) == ("torch.fx.traceback:planted", "healed")
    assert found["symptom"] == "the result is borrowed, alone usual"
