"""Nobody outlives whom they should not: the parent's death, the zygote's death."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from fxrace.errors import LaunchFailed
from fxrace.launch.executors.local import LocalExecutor
from fxrace.launch.progress import Ended, Mode, Started
from fxrace.launch.stopping import Stopping
from fxrace.records.outcome import Stop
from tests.unit.launch.conftest import STAND_IN, TARGETS, make_trial

CHECKOUT = Path(__file__).parents[3]

PARENT = """
import pathlib, sys
from fxrace.launch.executors.local import LocalExecutor
from fxrace.launch.progress import Mode, Started
from fxrace.launch.stopping import Stopping
from tests.unit.launch.conftest import STAND_IN, TARGETS, make_trial

mode = Mode(sys.argv[1])
roots = (TARGETS,) if mode is Mode.FORK else (STAND_IN, TARGETS)
trials = [make_trial("holds_a_child", seed=i) for i in range(2)]
with LocalExecutor(python=sys.executable, directory=pathlib.Path(sys.argv[2]), jobs=2,
                   roots=roots, mode=mode) as executor:
    for step in executor.run(trials, stopping=Stopping()):
        print(step.directory, flush=True)
"""


@pytest.mark.parametrize("mode", Mode)
def test_sigkill_of_the_parent_leaves_nothing_behind(tmp_path: Path, mode: Mode) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, mode.value, str(tmp_path)],
        cwd=CHECKOUT,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert parent.stdout is not None
    folders = [Path(parent.stdout.readline().strip()) for _ in range(2)]
    for folder in folders:
        wait_for(folder / "holding")
    everyone = psutil.Process(parent.pid).children(recursive=True)
    assert len(everyone) == 1 + 2 + 2 + 2  # zygote, trials, children, children that left
    parent.kill()
    parent.wait(10)
    parent.stdout.close()
    assert psutil.wait_procs(everyone, 10)[1] == []


def wait_for(path: Path, limit_s: float = 60.0) -> None:
    """Until ``path`` exists, by way of a process that looks for it (bounded)."""
    script = 'until [ -e "$1" ]; do sleep 0.02; done'
    subprocess.run(["sh", "-c", script, "sh", str(path)], timeout=limit_s, check=True)


def test_the_zygotes_death_is_said_and_takes_the_trials_along(tmp_path: Path) -> None:
    with LocalExecutor(
        python=sys.executable,
        directory=tmp_path,
        jobs=1,
        roots=(STAND_IN, TARGETS),
        mode=Mode.SPAWN,
    ) as executor:
        running = executor.run([make_trial("chatters")], stopping=Stopping())
        assert isinstance(next(running), Started)
        assert executor._link is not None
        zygote = psutil.Process(executor._link.pid)
        children = zygote.children(recursive=True)
        os.kill(zygote.pid, signal.SIGKILL)
        with pytest.raises(LaunchFailed) as caught:
            list(running)
        assert caught.value.remedy
        assert psutil.wait_procs(children, 10)[1] == []


def test_a_fresh_interpreter_obeys_the_same_rules(tmp_path: Path) -> None:
    """One trial under SPAWN: stacks of a deadlock, own session, same folder."""
    with LocalExecutor(
        python=sys.executable, directory=tmp_path, jobs=1, roots=(TARGETS,), mode=Mode.SPAWN
    ) as executor:
        trial = make_trial("deadlocks_deaf", silence_s=4.0)
        _, ended = executor.run([trial], stopping=Stopping())
    assert isinstance(ended, Ended)
    assert (ended.ending.stop, ended.ending.code) == (Stop.SILENT, signal.SIGKILL)
    assert ended.ending.blind == ()
    names = {stack.thread for stack in ended.ending.stacks}
    assert {"drafter 0", "drafter 1"} <= names
    assert (ended.directory / "stacks.txt").stat().st_size > 0
    assert not (ended.directory / "cache").exists()
