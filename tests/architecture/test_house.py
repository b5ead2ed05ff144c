"""The house rules that a machine can check: floors, sizes, names, and what an import costs."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("fxrace", "harness", "repros")
MODULES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
MOST_LINES = 300
BANNED_NAMES = ("Manager", "Helper", "Utils", "Common", "Data", "Info", "Handler")


def test_floors() -> None:
    linter = Path(sys.executable).with_name("lint-imports")
    ran = subprocess.run([linter], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stdout


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_module(path: Path) -> None:
    text = path.read_text()
    tree = ast.parse(text)
    assert len(text.splitlines()) <= MOST_LINES
    assert ast.get_docstring(tree), "a module says what it is"
    classes = [node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    assert not [name for name in classes if name.endswith(BANNED_NAMES)]


LOADED = "these are loaded:"


def imported_by(statement: str) -> set[str]:
    """The top-level packages that a statement loads into a fresh interpreter."""
    code = f"import sys; {statement}; print(MARK, *{{m.split('.')[0] for m in sys.modules}})"
    code = code.replace("MARK", repr(LOADED))
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert ran.returncode == 0, ran.stderr
    return set(ran.stdout.rpartition(LOADED)[2].split())


def test_importing_fxrace_is_free() -> None:
    assert not imported_by("import fxrace, fxrace.errors") & {"torch", "numpy", "msgspec", "rich"}


def test_the_trial_process_needs_the_standard_library_only() -> None:
    loaded = imported_by("import fxrace.probe.child, fxrace.probe.zygote, fxrace.core.judge")
    assert not loaded & {"msgspec", "rich", "click", "psutil", "jinja2", "networkx"}


def test_the_command_line_starts_without_torch() -> None:
    code = "from fxrace.cli import main; main(['--help'], standalone_mode=False)"
    assert "torch" not in imported_by(code)
