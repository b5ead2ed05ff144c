"""Every way a trial can end, with real processes."""

from __future__ import annotations

import json
import os
import platform
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch

from fxrace.errors import OutputUnwritable
from fxrace.launch import py_spy
from fxrace.launch.executors.local import LocalExecutor
from fxrace.launch.folder import TrialFolder, prune
from fxrace.launch.progress import Ended, Mode, Started
from fxrace.launch.stopping import Level, Stopping
from fxrace.records.outcome import Ending, Stop
from fxrace.records.trial import Trial
from tests.unit.launch.conftest import make_trial, run_one

pytestmark = pytest.mark.xdist_group("zygote")

SIGNALS_AFTER_S = 2.0


def notes(ended: Ended) -> list[dict[str, Any]]:
    lines = TrialFolder(path=ended.directory).events.read_text().splitlines()
    return [e["data"] for e in map(json.loads, lines) if e["kind"] == "note"]


def gone(*pids: int) -> bool:
    """True when none of these processes exists or all are zombies nobody waits for."""
    return not psutil.wait_procs([psutil.Process(p) for p in pids if psutil.pid_exists(p)], 5)[1]


def functions(ending: Ending, thread: str) -> str:
    (stack,) = [stack for stack in ending.stacks if stack.thread == thread]
    return " ".join(frame.function for frame in stack.frames)


def test_a_trial_that_does_nothing(executor: LocalExecutor) -> None:
    ended = run_one(executor, make_trial("nothing"))
    assert (ended.ending.stop, ended.ending.code) == (Stop.EXITED, 0)
    assert ended.ending.stacks == ()
    assert ended.ending.blind == ()
    assert 0 < ended.ending.duration_s < 30
    assert not TrialFolder(path=ended.directory).cache.exists()
    prune(ended.directory)
    assert not ended.directory.exists()


def test_the_cell_of_a_trial(executor: LocalExecutor) -> None:
    ended = run_one(executor, make_trial("talks"))
    folder = TrialFolder(path=ended.directory)
    assert folder.stdout.read_text() == "out: hello\n"
    assert ended.ending.stderr_tail == "err: hello\n"
    (seat,) = notes(ended)
    assert seat["session"] == seat["pid"]
    assert seat["stdin"] == "/dev/null"
    assert Path(seat["inductor"]).is_relative_to(folder.path)
    # 0-2, stacks, record, and the listing itself: nothing of the zygote.
    assert seat["descriptors"] == [0, 1, 2, 3, 4, 5]
    assert Trial.from_plain(json.loads(folder.specification.read_text())) == ended.trial


def test_what_a_killed_run_left_is_cleared(executor: LocalExecutor) -> None:
    first = run_one(executor, make_trial("nothing", seed=1))
    record = TrialFolder(path=first.directory).events
    lines = len(record.read_text().splitlines())
    (first.directory / "stale").touch()
    again = run_one(executor, make_trial("nothing", seed=1))
    assert again.directory == first.directory
    assert not (again.directory / "stale").exists()
    assert len(record.read_text().splitlines()) == lines


def test_an_exit_status_of_its_own(executor: LocalExecutor) -> None:
    ending = run_one(executor, make_trial("exits_badly")).ending
    assert (ending.stop, ending.code) == (Stop.EXITED, 9)


def test_sigabrt(executor: LocalExecutor) -> None:
    ending = run_one(executor, make_trial("aborts")).ending
    assert (ending.stop, ending.code) == (Stop.SIGNALLED, signal.SIGABRT)
    assert ending.stderr_tail == "last words \ufffd\n"
    assert "aborts" in functions(ending, "MainThread")


def test_a_segmentation_fault_in_a_thread(executor: LocalExecutor) -> None:
    ending = run_one(executor, make_trial("crashes_in_c")).ending
    assert (ending.stop, ending.code) == (Stop.SIGNALLED, signal.SIGSEGV)
    assert len(ending.stacks) == 2


def test_a_closed_stdout_is_its_own_affair(executor: LocalExecutor) -> None:
    ended = run_one(executor, make_trial("closes_stdout"))
    assert (ended.ending.stop, ended.ending.code) == (Stop.EXITED, 0)
    assert notes(ended) == [{"text": "still here"}]


@pytest.mark.parametrize(
    ("target", "ended_by"),
    [("deadlocks", signal.SIGTERM), ("deadlocks_deaf", signal.SIGKILL)],
)
def test_deadlock(executor: LocalExecutor, target: str, ended_by: int) -> None:
    ended = run_one(executor, make_trial(target, silence_s=1.0))
    ending = ended.ending
    assert (ending.stop, ending.code) == (Stop.SILENT, ended_by)
    assert 1.0 <= ending.duration_s < 1.0 + SIGNALS_AFTER_S
    assert ending.blind == ()
    assert {stack.source for stack in ending.stacks} == {"py-spy"}
    for thread in ("drafter 0", "drafter 1"):
        assert functions(ending, thread).endswith("embrace")
    assert len(json.loads(TrialFolder(path=ended.directory).py_spy.read_text())) == 3


def test_deadlock_without_the_right_to_trace(
    executor: LocalExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(pid: int) -> str:
        raise py_spy.Refused("no right")

    monkeypatch.setattr(py_spy, "dump", refuse)
    ending = run_one(executor, make_trial("deadlocks", silence_s=1.0)).ending
    assert ending.stop is Stop.SILENT
    assert [what for what, _ in ending.blind] == ["py-spy"]
    assert {stack.source for stack in ending.stacks} == {"faulthandler"}
    for thread in ("drafter 0", "drafter 1"):
        assert functions(ending, thread).endswith("embrace")


def test_busy_and_silent(executor: LocalExecutor) -> None:
    ending = run_one(executor, make_trial("spins", silence_s=2.0, busy_s=3.0)).ending
    assert ending.stop is Stop.SILENT
    assert ending.duration_s >= 3.0
    assert "spins" in functions(ending, "MainThread")


def test_alive_but_never_done(executor: LocalExecutor) -> None:
    ending = run_one(executor, make_trial("chatters", trial_s=1.0)).ending
    assert ending.stop is Stop.TIMED_OUT
    assert "chatters" in functions(ending, "MainThread")


def test_a_late_look_blames_nobody(executor: LocalExecutor, tmp_path: Path) -> None:
    """The caller is away for longer than the silence limit while the trial goes on."""
    done = tmp_path / "done"
    trial = make_trial("waits_for_file", file=str(done), silence_s=1.0)
    running = executor.run([trial], stopping=Stopping())
    next(running)
    threading.Event().wait(1.5)  # being away is the point
    done.touch()
    (ended,) = running
    assert isinstance(ended, Ended)
    assert (ended.ending.stop, ended.ending.code) == (Stop.EXITED, 0)


def test_nothing_a_trial_started_outlives_it(executor: LocalExecutor) -> None:
    ended = run_one(executor, make_trial("leaves_children"))
    assert ended.ending.stop is Stop.EXITED
    assert gone(*notes(ended)[0]["pids"])


def test_a_growing_tree_is_felled_whole(executor: LocalExecutor) -> None:
    ended = run_one(executor, make_trial("forks_for_ever", silence_s=1.0, busy_s=2.0))
    assert ended.ending.stop is Stop.SILENT
    (note,) = notes(ended)
    session = note["pid"]
    left = [p for p in psutil.process_iter() if _session(p.pid) == session]
    assert not psutil.wait_procs(left, 5)[1]


def test_a_target_that_is_not_there(executor: LocalExecutor) -> None:
    ended = run_one(executor, make_trial("no_such_function"))
    assert (ended.ending.stop, ended.ending.code) == (Stop.EXITED, 70)


def test_jobs_at_a_time(executor: LocalExecutor) -> None:
    running = most = 0
    for step in executor.run(
        [make_trial("nothing", seed=i) for i in range(5)], stopping=Stopping()
    ):
        running += 1 if isinstance(step, Started) else -1
        most = max(most, running)
    assert (running, most) == (0, 2)


def test_first_signal_finishes_second_kills(executor: LocalExecutor, tmp_path: Path) -> None:
    done = tmp_path / "done"
    trials = [
        make_trial("waits_for_file", file=str(done)),
        make_trial("chatters", seed=1),
        make_trial("nothing", seed=2),
    ]
    started, ended = [], []
    with Stopping() as stopping:
        for step in executor.run(trials, stopping=stopping):
            if isinstance(step, Started):
                started.append(step.trial)
                if len(started) == 2:
                    signal.raise_signal(signal.SIGINT)
                    done.touch()
            else:
                ended.append((step.trial, step.ending.stop))
                if stopping.level is Level.FINISH:
                    signal.raise_signal(signal.SIGINT)
    assert started == trials[:2]
    assert ended == [(trials[0], Stop.EXITED), (trials[1], Stop.INTERRUPTED)]


def test_a_caller_that_goes_away_leaves_nothing_running(executor: LocalExecutor) -> None:
    trial = make_trial("chatters", seed=7)
    running = executor.run([trial], stopping=Stopping())
    next(running)
    assert executor._link is not None
    (child,) = psutil.Process(executor._link.pid).children()
    running.close()
    assert gone(child.pid)
    assert run_one(executor, make_trial("nothing", seed=7)).ending.stop is Stop.EXITED


def test_an_output_folder_in_the_place_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    executor = LocalExecutor(
        python=sys.executable, directory=tmp_path / "file" / "out", jobs=1, roots=(), mode=Mode.FORK
    )
    with pytest.raises(OutputUnwritable), executor:
        pass


def test_the_environment_describes_the_trials(executor: LocalExecutor) -> None:
    environment = executor.describe()
    assert environment.torch == torch.__version__
    assert environment.python == platform.python_version()
    assert environment == executor.describe()


def _session(pid: int) -> int:
    try:
        return os.getsid(pid)
    except OSError:
        return 0
