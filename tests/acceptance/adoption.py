"""Small projects that take the plugin up: which lines each adds, and how its race is removed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PROJECTS = Path(__file__).parent / "projects"
#: On a machine that does much else; alone it is ten seconds.
RUN_S = 1200.0
ENTRY = "[pytest11]\nfxrace = fxrace.pytest_plugin\n"


@dataclass(frozen=True, kw_only=True, slots=True)
class Project:
    """``added`` is (file, what it goes before, one line); ``remedy`` is (file, was, is)."""

    name: str
    added: tuple[tuple[str, str, str], ...]
    remedy: tuple[str, str, str]


INI = ("pytest.ini", "addopts", "fxrace_mode = explore")
SERVER = Project(
    name="server",
    added=(
        INI,
        ("test_server.py", "def test_it_answers", "@pytest.mark.fxrace(schedules=20)"),
    ),
    remedy=("server.py", "nullcontext()", "__import__('threading').Lock()"),
)
TRAINER = Project(
    name="trainer",
    added=(
        INI,
        ("test_trainer.py", "from trainer", "import pytest"),
        ("test_trainer.py", "    def test_a_step", "    @pytest.mark.fxrace(schedules=8)"),
    ),
    remedy=("trainer.py", "capturing = nullcontext()", "capturing = threading.RLock()"),
)
EXPORTER = Project(
    name="exporter",
    added=(
        INI,
        ("test_exporter.py", "@pytest.mark.parametrize", "@pytest.mark.fxrace(schedules=4)"),
    ),
    remedy=("exporter.py", "nullcontext()", "__import__('threading').RLock()"),
)


def adopt(project: Project, folder: Path, *, racy: bool) -> Path:
    """A copy of the project with its added lines, as it is or with the race removed."""
    copy = folder / f"{project.name}-{'racy' if racy else 'safe'}"
    shutil.copytree(PROJECTS / project.name, copy)
    for name, before, line in project.added:
        file = copy / name
        assert before in file.read_text()
        assert "\n" not in line
        file.write_text(file.read_text().replace(before, f"{line}\n{before}", 1))
    if not racy:
        name, was, now = project.remedy
        file = copy / name
        assert was in file.read_text()
        file.write_text(file.read_text().replace(was, now))
    return copy


def installed(folder: Path) -> Mapping[str, str]:
    """The environment of an interpreter in which fxrace is installed, entry point and all."""
    about = folder / "site" / "fxrace-0.dist-info"
    if not about.exists():
        about.mkdir(parents=True)
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: fxrace\nVersion: 0\n")
        (about / "entry_points.txt").write_text(ENTRY)
    before = filter(None, [os.environ.get("PYTHONPATH")])
    path = os.pathsep.join([str(ROOT), str(about.parent), *before])
    return {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}


def run(copy: Path, *words: str) -> tuple[int, dict[str, Any], str]:
    """Its tests, as its authors run them: exit status, document, what was printed."""
    report = copy / "report.json"
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
    ran = subprocess.run(
        [*command, f"--fxrace-report={report}", *words],
        cwd=copy, env=dict(installed(copy.parent)), timeout=RUN_S,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    document = json.loads(report.read_text()) if report.exists() else {}
    return ran.returncode, document, ran.stdout + ran.stderr
