"""A script's end: status and last lines, its limit, and everything it started gone with it."""

from __future__ import annotations

import contextlib
import signal
import sys
from pathlib import Path

import psutil
import pytest

from fxrace.errors import InterpreterUnusable
from fxrace.launch.script import run_script, torch_version
from fxrace.records.repro import ScriptEnd

PYTHON = Path(sys.executable)


def run(folder: Path, text: str, *arguments: str, timeout_s: float = 60.0) -> ScriptEnd:
    script = folder / "script.py"
    script.write_text(text)
    return run_script(PYTHON, script, *arguments, timeout_s=timeout_s, give_up=lambda: False)


def test_status_and_last_lines(tmp_path: Path) -> None:
    text = "import sys\nprint('first\\nCLEAN ' + sys.argv[1] + '\\n')\nsys.exit('why')"
    end = run(tmp_path, text, "--guarded")
    assert (end.status, end.line, end.error) == (1, "CLEAN --guarded", "why")


def test_a_signal_is_a_negative_status(tmp_path: Path) -> None:
    end = run(tmp_path, "import os, signal; os.kill(os.getpid(), signal.SIGABRT)")
    assert end.status == -signal.SIGABRT


def test_undecodable_output_is_no_obstacle(tmp_path: Path) -> None:
    end = run(tmp_path, "import sys; sys.stdout.buffer.write(b'CLEAN \\xff\\n')")
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
    tmp_path: Path, then: str, timeout_s: float, status: int | None
) -> None:
    end = run(tmp_path, STARTS.format(then=then), timeout_s=timeout_s)
    assert end.status == status
    child = int(end.line)
    with contextlib.suppress(psutil.NoSuchProcess):
        assert psutil.Process(child).status() == psutil.STATUS_ZOMBIE or _ends(child)


def _ends(child: int) -> bool:
    """It was sent SIGKILL, which takes effect when it is next scheduled."""
    psutil.Process(child).wait(timeout=20)
    return True


def test_giving_up_kills_it(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import threading; threading.Event().wait(60)")
    end = run_script(PYTHON, script, timeout_s=60, give_up=lambda: True)
    assert end.status is None
    assert end.duration_s < 30


def test_the_torch_of_an_interpreter(tmp_path: Path) -> None:
    assert torch_version(PYTHON).startswith("2.")
    with pytest.raises(InterpreterUnusable):
        torch_version(tmp_path / "python")
