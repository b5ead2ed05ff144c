"""``fxrace run --guard``: the guard is in place before the program's first trace."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("rich_click", reason="the command line is not for interpreters under test")

ROOT = Path(__file__).parents[3]
PROGRAM = """
import threading, torch
inside, go = threading.Event(), threading.Event()
class Model(torch.nn.Module):
    def forward(self, x):
        inside.set()
        go.wait(60)
        return x
thread = threading.Thread(target=lambda: torch.fx.symbolic_trace(Model()))
thread.start()
inside.wait(60)
try:
    torch.nn.Linear(2, 2)(torch.ones(2))
    print("undisturbed")
except NameError:
    print("disturbed")
finally:
    go.set()
    thread.join()
"""


def ran(tmp_path: Path, *options: str, **variables: str) -> subprocess.CompletedProcess[str]:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    command = [sys.executable, "-m", "fxrace", "run", "-o", str(tmp_path), *options]
    return subprocess.run(
        [*command, "--", str(program)], cwd=ROOT, env={**os.environ, **variables}, timeout=120,
        capture_output=True, text=True,
    )  # fmt: skip


def test_a_program_runs_under_the_guards_that_are_named(tmp_path: Path) -> None:
    assert ran(tmp_path).stdout == "disturbed\n"
    assert ran(tmp_path, "--guard", "isolated", "--guard", "no_circle").stdout == "undisturbed\n"
    assert ran(tmp_path, FXRACE_GUARD="one_owner,no_circle").stdout == "undisturbed\n"


def test_an_unknown_guard_is_a_usage_error_and_nothing_runs(tmp_path: Path) -> None:
    refused = ran(tmp_path, "--guard", "no_such_guard")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "one_owner" in refused.stderr
