"""Adding a locking strategy is adding one file: help, sweep, report and conformance follow."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.acceptance.sweeping import ROOT, axes, environment, fxrace

pytestmark = pytest.mark.slow

DROPPED = '''"""Dropped in: one lock round every whole step, under another name."""

from harness.locking.whole_step import part as whole_step

from fxrace.probe.part import Part

part = Part(build=whole_step.build)
'''


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project with one more file in harness/locking."""
    root = tmp_path_factory.mktemp("checkout")
    for name in ("fxrace", "harness", "repros", "tests", "pyproject.toml"):
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, root / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, root / name)
    (root / "harness" / "locking" / "dropped_in.py").write_text(DROPPED)
    return root


def test_help_lists_it(checkout: Path, tmp_path: Path) -> None:
    ran = fxrace("sweep", "--help", cwd=tmp_path, root=checkout)
    assert ran.status == 0
    assert "dropped_in" in ran.stdout
    assert "dropped_in" not in fxrace("sweep", "--help", cwd=tmp_path).stdout


def test_sweep_and_report_show_it(checkout: Path, tmp_path: Path) -> None:
    ran = fxrace(
        "sweep", "--gpus", "2", "--steps", "2", "--json", *axes(locking=["none", "dropped_in"]),
        cwd=tmp_path, root=checkout,
    )  # fmt: skip
    assert ran.status == 0, ran.stderr
    verdicts = {c["knobs"]["locking"]: c["verdicts"] for c in ran.document["cells"]}
    assert verdicts == {"none": {"CLEAN": 1}, "dropped_in": {"CLEAN": 1}}
    assert "dropped_in" in Path(ran.document["report"]).read_text()


def test_conformance_tests_it(checkout: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-k", "dropped_in", "tests/conformance", "-rA"],
        cwd=checkout, env=environment(checkout), capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout
    assert "dropped_in" in ran.stdout
