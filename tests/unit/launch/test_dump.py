"""Processes that stand in known ways, and what is read from outside. None was started by fxrace."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fxrace.errors import ExitCode, NoSuchProcess, NotPython, StacksRefused
from fxrace.launch import dump, py_spy
from fxrace.launch.dump import document_of
from fxrace.records.document import DumpDocument
from fxrace.records.stuck import Classification, Motion

TARGETS = Path(__file__).parent / "targets"
PAUSE_S, BOUND_S = 0.3, 30.0
DEADLOCK = Classification.DEADLOCK

Start = Callable[..., int]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts a program of ``targets`` and returns its PID once it says it is up."""
    running: list[subprocess.Popen[str]] = []

    def go(file: str, *arguments: str) -> int:
        command = [sys.executable, str(TARGETS / file), *arguments]
        program = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        running.append(program)
        assert program.stdout is not None
        assert program.stdout.readline() == "up\n"
        return program.pid

    yield go
    for program in running:
        program.kill()
        program.wait(10)
        if program.stdout is not None:
            program.stdout.close()


def settled(pid: int, wanted: Classification) -> DumpDocument:
    """Look until it says so: "up" is said just before a program stands still, not after."""
    until = time.monotonic() + BOUND_S
    while True:
        document = document_of(pid, pause_s=PAUSE_S)
        if document.classification is wanted or time.monotonic() > until:
            return document


def ring(document: DumpDocument) -> set[tuple[str, str | None]]:
    return {(edge.waiter, edge.held_by) for edge in document.circle}


def test_compile_lock_and_a_thread_of_autograd(start: Start) -> None:
    document = settled(start("device_circle.py"), DEADLOCK)
    assert document.classification is DEADLOCK
    by_lock = {edge.waits_for: edge for edge in document.circle}
    assert set(by_lock) == {"torch._dynamo.compile_lock", "autograd's device thread"}
    waits, holds = by_lock["torch._dynamo.compile_lock"], by_lock["autograd's device thread"]
    assert (waits.held_by, holds.waiter) == ("drafter-0", "drafter-0")
    assert holds.held_by == waits.waiter
    assert holds.stack[-1].function == "_engine_run_backward"
    assert waits.stack[-1].file.endswith("torch/_dynamo/convert_frame.py")
    assert any(frame.file.endswith("device_circle.py") for frame in waits.stack)


def test_the_same_program_without_the_cold_call_ends() -> None:
    command = [sys.executable, str(TARGETS / "device_circle.py"), "--open"]
    assert subprocess.run(command, capture_output=True, timeout=BOUND_S).returncode == 0


@pytest.mark.parametrize(
    ("program", "circle"),
    [
        ("lock_cycle", {("worker-0", "worker-1"), ("worker-1", "worker-0")}),
        ("itself", {("MainThread", "MainThread")}),
        ("joined_in_a_circle", {("MainThread", "worker-0"), ("worker-0", "MainThread")}),
    ],
)
def test_circles(start: Start, program: str, circle: set[tuple[str, str]]) -> None:
    document = settled(start("standing.py", program), DEADLOCK)
    assert document.classification is DEADLOCK
    assert ring(document) == circle
    assert all(edge.stack for edge in document.circle)


@pytest.mark.parametrize(
    ("program", "word"),
    [
        ("two_shops", Classification.EXTERNAL_WAIT),
        ("sleeps", Classification.EXTERNAL_WAIT),
        ("spins", Classification.RUNNING),
        ("starves", Classification.STARVATION),
        ("listens", Classification.UNKNOWN),
    ],
)
def test_no_circle(start: Start, program: str, word: Classification) -> None:
    document = settled(start("standing.py", program), word)
    assert document.classification is word
    assert document.circle == ()


def test_a_native_sleep_is_named(start: Start) -> None:
    (row,) = settled(start("standing.py", "sleeps"), Classification.EXTERNAL_WAIT).threads
    assert "sleep" in row.leaf
    assert row.motion is Motion.STILL


def test_the_holder_of_the_interpreter_lock_is_named(start: Start) -> None:
    (row,) = settled(start("standing.py", "hogs"), Classification.RUNNING).threads
    assert (row.motion, row.holds_gil) == (Motion.RUNS, True)


def test_the_starved_and_the_runner_are_named(start: Start) -> None:
    document = settled(start("standing.py", "starves"), Classification.STARVATION)
    rows = {row.thread: row for row in document.threads}
    assert rows["MainThread"].held_by == "worker-0"
    assert rows["worker-0"].motion is Motion.RUNS
    assert rows["MainThread"].waits_for in rows["worker-0"].holds


def test_the_record_of_a_process_that_fxrace_started(start: Start, tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    pid = start("standing.py", "recorded", str(path))
    document = settled(pid, DEADLOCK)
    assert document.record == str(path)
    assert ring(document) == {("worker-0", "worker-1"), ("worker-1", "worker-0")}
    (tmp_path / "empty").touch()
    blind = document_of(pid, record=tmp_path / "empty", pause_s=PAUSE_S)
    assert blind.classification is not DEADLOCK


def test_a_process_that_is_gone() -> None:
    program = subprocess.Popen([sys.executable, "-c", ""])
    program.wait(BOUND_S)
    with pytest.raises(NoSuchProcess) as failed:
        document_of(program.pid, pause_s=PAUSE_S)
    assert failed.value.exit_code is ExitCode.USAGE


def test_a_process_that_ends_between_the_looks(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    pid = start("standing.py", "sleeps")

    def end(_: float) -> None:
        os.kill(pid, signal.SIGKILL)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)

    monkeypatch.setattr(dump.time, "sleep", end)
    with pytest.raises((NoSuchProcess, StacksRefused, NotPython)):
        document_of(pid, pause_s=PAUSE_S)


def test_a_process_that_is_no_python() -> None:
    with subprocess.Popen(["sleep", "600"]) as program:
        try:
            with pytest.raises(NotPython) as failed:
                document_of(program.pid, pause_s=PAUSE_S)
        finally:
            program.kill()
    assert failed.value.exit_code is ExitCode.USAGE


def test_without_the_right_to_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> str:
        raise py_spy.Refused("py-spy failed (Error: Permission denied (os error 13))")

    monkeypatch.setattr(py_spy, "dump", refuse)
    with pytest.raises(StacksRefused, match="SYS_PTRACE") as failed:
        document_of(os.getpid(), pause_s=PAUSE_S)
    assert failed.value.exit_code is ExitCode.INCONCLUSIVE
