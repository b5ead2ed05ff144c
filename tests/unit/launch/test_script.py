"""A script's end: status and last lines, its limit, and everything it started gone with it.

Both ways to run one must give the same: an interpreter of its own, and a fork of one with torch.
"""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import psutil
import pytest

from fxrace.errors import InterpreterUnusable, LaunchFailed
from fxrace.launch.script import run_script, torch_version
from fxrace.launch.script_forks import ScriptForks
from fxrace.records.repro import ScriptEnd

PYTHON = Path(sys.executable)


Run = Callable[..., ScriptEnd]


@pytest.fixture(scope="module")
def forks() -> Iterator[ScriptForks]:
    with ScriptForks(PYTHON) as found:
        assert found.usable
        yield found


@pytest.fixture(params=["interpreter", "fork"])
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Run:
    """Runs a script's text; more words are its arguments."""
    if request.param == "fork":
        runner: Run = request.getfixturevalue("forks").run
    else:
        runner = partial(run_script, PYTHON)

    def ran(
        text: str, *arguments: str, timeout_s: float = 60.0, give_up: bool = False
    ) -> ScriptEnd:
        script = tmp_path / "script.py"
        script.write_text(text)
        return runner(script, *arguments, timeout_s=timeout_s, give_up=lambda: give_up)

    return ran


def test_status_and_last_lines(run: Run) -> None:
    text = "import sys\nprint('first\\nCLEAN ' + sys.argv[1] + '\\n')\nsys.exit('why')"
    end = run(text, "--guarded")
    assert (end.status, end.line, end.error) == (1, "CLEAN --guarded", "why")


def test_a_signal_is_a_negative_status(run: Run) -> None:
    end = run("import os, signal; os.kill(os.getpid(), signal.SIGABRT)")
    assert end.status == -signal.SIGABRT


def test_undecodable_output_is_no_obstacle(run: Run) -> None:
    end = run("import sys; sys.stdout.buffer.write(b'CLEAN \\xff\\n')")
    assert end.status == 0
    assert end.line.startswith("CLEAN")


STARTS = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import threading; threading.Event().wait(60)"])
print(child.pid, flush=True)
{then}
"""


@pytest.mark.parametrize(
    ("then", "timeout_s", "status"), [("", 60.0, 0), ("child.wait()", 3.0, None)]
)
def test_what_it_started_ends_with_it(
    run: Run, then: str, timeout_s: float, status: int | None
) -> None:
    end = run(STARTS.format(then=then), timeout_s=timeout_s)
    assert end.status == status
    child = int(end.line)
    with contextlib.suppress(psutil.NoSuchProcess):
        assert psutil.Process(child).status() == psutil.STATUS_ZOMBIE or _ends(child)


def _ends(child: int) -> bool:
    """It was sent SIGKILL, which takes effect when it is next scheduled."""
    psutil.Process(child).wait(timeout=20)
    return True


def test_giving_up_kills_it(run: Run) -> None:
    end = run("import threading; threading.Event().wait(60)", give_up=True)
    assert end.status is None
    assert end.duration_s < 30


MAIN = """
import atexit, pickle, sys, threading
atexit.register(lambda: print("CLEAN", *seen, flush=True))
seen = [__name__, __file__ == sys.argv[0], sys.path[0] == __file__.rpartition("/")[0]]
class Own: pass
seen.append(type(pickle.loads(pickle.dumps(Own()))) is Own)
wait = threading.Event()
threading.Thread(target=lambda: (wait.wait(0.2), seen.append("joined"))).start()
"""


def test_a_script_is_the_main_program(run: Run) -> None:
    end = run(MAIN)
    assert (end.status, end.line) == (0, "CLEAN __main__ True True True joined")


def test_an_error_ends_with_its_own_words(run: Run) -> None:
    end = run("raise ValueError('why')")
    assert (end.status, end.error) == (1, "ValueError: why")


def test_runs_of_one_process_do_not_see_each_other(run: Run) -> None:
    text = "import torch, sys; print(torch.is_grad_enabled()); torch.set_grad_enabled(False)"
    assert [run(text).line, run(text).line] == ["True", "True"]


def test_a_process_to_fork_that_is_gone_is_said(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import os, signal; os.kill(os.getppid(), signal.SIGKILL)")
    with ScriptForks(PYTHON) as forks, pytest.raises(LaunchFailed):
        forks.run(script, timeout_s=60, give_up=lambda: False)


def test_the_torch_of_an_interpreter(tmp_path: Path) -> None:
    assert torch_version(PYTHON).startswith("2.")
    with pytest.raises(InterpreterUnusable):
        torch_version(tmp_path / "python")
