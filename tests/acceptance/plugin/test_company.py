"""Beside other plugins and in bad weather: reruns, time limits, parallel and async tests, a worker
that dies, Ctrl-C; and what CI reads: JUnit properties, GitHub's annotations.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import xml.etree.ElementTree as xml
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.acceptance.plugin.running import COUNTER, ROOT, WITH_TORCH, became, plugin, ran

pytest_plugins = "pytester"
pytestmark = pytest.mark.slow
RACY = (
    COUNTER
    + """

@pytest.mark.fxrace(schedules=20)
def test_racy(counter):
    counter.add()
"""
)


def test_a_rerun_plays_the_schedule_that_failed(pytester: pytest.Pytester) -> None:
    pytest.importorskip("pytest_rerunfailures")
    pytester.makepyfile(test_it=RACY)
    result, document = ran(pytester, "--fxrace=explore", "--reruns=1", own_process=True)
    assert result.parseoutcomes() == {"failed": 1, "rerun": 1}
    assert [one["became"] for one in document["tests"]] == ["failed", "failed"]
    assert [one["strategy"] for one in document["tests"]] == ["exhaustive", "replay"]


def test_async_tests_stay_async(pytester: pytest.Pytester) -> None:
    pytest.importorskip("pytest_asyncio")
    pytester.makepyfile(
        test_it=WITH_TORCH + COUNTER + "\n\n@pytest.mark.asyncio\n"
        "@pytest.mark.fxrace(schedules=20)\n@pytest.mark.parametrize('kind', [Counter, Safe])\n"
        "async def test_it(kind, _made={}):\n    _made.setdefault(kind, kind()).add()\n"
    )
    _, document = ran(pytester, "--fxrace=explore", own_process=True)
    assert became(document) == {"test_it[Counter]": "failed", "test_it[Safe]": "passed"}


def test_threads_of_run_parallel_are_not_ours(pytester: pytest.Pytester) -> None:
    pytest.importorskip("pytest_run_parallel")
    pytester.makepyfile(test_it=RACY)
    _, document = ran(
        pytester, "--fxrace=explore", "--parallel-threads=3",
        own_process=True,
    )  # fmt: skip
    assert became(document) == {"test_racy": "failed"}


def test_hanging_crashing_and_what_ci_reads(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One run on two workers: a test that hangs alone, a worker that dies, and a race."""
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    pytester.makepyfile(
        test_it=RACY + "\n\n@pytest.mark.timeout(20)\n@pytest.mark.fxrace(time='10m')\n"
        "def test_hangs():\n    threading.Event().wait()\n\n\n"
        "def test_kills_its_worker():\n    import os\n    os._exit(3)\n"
    )
    result, document = ran(
        pytester, "--fxrace=explore", "-n", "2", "--junitxml=junit.xml", own_process=True
    )
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert result.parseoutcomes()["failed"] == 3
    found = became(document)
    assert found["test_racy"] == "failed"
    assert not document["complete"]
    (row,) = document["findings"]
    properties = [
        (one.attrib["name"], one.attrib["value"])
        for one in xml.parse(pytester.path / "junit.xml").iter("property")
    ]
    assert ("fxrace_finding", row["fingerprint"]) in properties
    assert ("fxrace_replay", row["replay"]) in properties
    (note,) = [line for line in result.outlines if line.startswith("::error ")]
    assert note.startswith("::error file=test_it.py,line=")
    assert row["token"] in note


def test_ctrl_c_ends_everything_and_keeps_what_was_found(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        RACY + "\n\n@pytest.mark.fxrace(time='10m')\ndef test_stands(tmp_path):\n"
        "    import os, pathlib\n    pathlib.Path('standing').write_text(str(os.getpid()))\n"
        "    threading.Event().wait()\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *plugin()]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    running = subprocess.Popen(
        [*command, "--fxrace=explore", "--fxrace-report=report.json"], cwd=tmp_path, env=env,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a background ignores it
    )  # fmt: skip
    standing = _when_written(tmp_path / "standing", running)
    running.send_signal(signal.SIGINT)
    assert running.wait(60) == pytest.ExitCode.INTERRUPTED
    psutil.wait_procs([psutil.Process(standing)] if psutil.pid_exists(standing) else [], 20)
    assert not psutil.pid_exists(standing)
    document: dict[str, Any] = json.loads((tmp_path / "report.json").read_text())
    assert became(document) == {"test_racy": "failed"}
    assert not document["complete"]


def _when_written(path: Path, running: subprocess.Popen[bytes]) -> int:
    """The number in a file, as soon as there is one."""
    for _ in range(1200):
        if path.exists() and path.read_text():
            return int(path.read_text())
        try:
            running.wait(0.1)
        except subprocess.TimeoutExpired:
            continue
        break
    raise AssertionError("it ended before its test began")


WATCHED = """
import threading
import pytest
import torch


class Standing(torch.nn.Module):
    def __init__(self, entered, go):
        super().__init__()
        self.entered, self.go = entered, go

    def forward(self, x):
        self.entered.set()
        self.go.wait(20)
        return x + 1


def traced(entered, go):
    try:
        torch.fx.symbolic_trace(Standing(entered, go))
    except Exception:
        pass


def test_two_traces_that_cross():
    inside, ended, second = threading.Event(), threading.Event(), threading.Event()
    one = threading.Thread(target=traced, args=(inside, second))
    other = threading.Thread(target=traced, args=(second, ended))
    one.start(); inside.wait(20); other.start(); one.join(20); ended.set(); other.join(20)


def test_one_after_the_other():
    free = threading.Event(); free.set()
    for _ in range(2):
        thread = threading.Thread(target=traced, args=(threading.Event(), free))
        thread.start(); thread.join(20)


@pytest.mark.fxrace_skip(reason="shown elsewhere")
def test_left_alone():
    test_two_traces_that_cross()
"""


def test_observing_finds_what_happens_and_nothing_else(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_it=WATCHED)
    result, document = ran(pytester, "--fxrace=observe", own_process=True)
    found = became(document)
    assert found == {"test_two_traces_that_cross": "failed", "test_one_after_the_other": "passed"}
    result.assert_outcomes(passed=2, failed=1)
    states = {one["state"] for one in document["findings"] if one["tier"] in ("T0", "T1", "T2")}
    assert any(state and state.startswith("fx.") for state in states)
