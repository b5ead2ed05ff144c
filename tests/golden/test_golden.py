"""Recorded trials and what must be concluded from them. One folder each; adding one is enough.

``events.jsonl`` (and ``py-spy.json`` of a hung process) are as the trial left them; paths of the
machine that recorded them are shortened. ``expected.json`` says how the process ended and what
the verdict and the causes must be. Recorded with torch 2.13 on a CPU, the deadlock and the
tracing flag with torch 2.11 (the deadlock on an H200).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fxrace.core.detect import findings_in
from fxrace.core.evidence import Evidence
from fxrace.core.judge import judge
from fxrace.launch import py_spy
from fxrace.launch.record_file import EVENTS, read_trace
from fxrace.records.outcome import Ending, Stop
from fxrace.records.trial import Trial

FOLDERS = sorted(path.parent for path in Path(__file__).parent.glob("*/expected.json"))


def evidence(folder: Path, stop: str) -> Evidence:
    dump = folder / "py-spy.json"
    return Evidence(
        trial=Trial(target="harness.trial:run", knobs={}),
        trace=read_trace(folder / EVENTS),
        ending=Ending(
            stop=Stop(stop),
            code=0 if stop == Stop.EXITED.value else None,
            duration_s=1.0,
            overhead_s=0.0,
            stacks=py_spy.parse(dump.read_text()) if dump.exists() else (),
        ),
        reference=None,
    )


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_conclusion(folder: Path) -> None:
    expected: dict[str, Any] = json.loads((folder / "expected.json").read_text())
    given = evidence(folder, expected["stop"])
    findings = findings_in(given)
    assert judge(given, findings).verdict.value == expected["verdict"]
    assert [
        {
            "pattern": finding.pattern,
            "state": finding.state,
            "sides": [[side.region, bool(side.stack)] for side in finding.sides],
            "fingerprint": finding.fingerprint,
        }
        for finding in findings
    ] == expected["findings"]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_a_record_cut_off_anywhere_is_still_judged(folder: Path, tmp_path: Path) -> None:
    content = (folder / EVENTS).read_bytes()
    for share in (0, 1, 3, 7, 9):
        (tmp_path / EVENTS).write_bytes(content[: len(content) * share // 10])
        given = evidence(tmp_path, "exited")
        assert judge(given, findings_in(given)).verdict.value != "CLEAN"


def test_the_deadlock_is_named_with_its_whole_circle() -> None:
    given = evidence(Path(__file__).with_name("deadlock-compile-lock-device-thread"), "silent")
    (hang,) = (finding for finding in findings_in(given) if finding.pattern == "hang")
    by_thread = {side.thread: side for side in hang.sides}
    assert set(by_thread) == {"Dummy-1", "drafter-1"}
    assert by_thread["drafter-1"].locks_held == ("torch._dynamo.compile_lock",)
    innermost = {name: side.stack[-1].function for name, side in by_thread.items()}
    assert innermost["drafter-1"].endswith("_engine_run_backward")
