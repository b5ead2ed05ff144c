"""Every operation in the folder: its text stands alone, and so does what it does."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fxrace.catalog.operations import operations as catalogued
from fxrace.probe import operations
from fxrace.probe.operations import Kind, Operation, Reuse

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "fxrace" / "probe" / "operations"
NAMES = operations.names()
ALLOWED = {"prepare", "run", "refuse", "operation"}


def top_level(tree: ast.Module) -> set[str]:
    """Names that a file defines, imports apart."""
    found = set()
    for node in tree.body[1:]:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.Assign):
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif not isinstance(node, (ast.Import, ast.ImportFrom)):
            found.add(type(node).__name__)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_the_file_is_the_operation(name: str) -> None:
    """Its text can be put into a script: nothing at the top level that a script would lack."""
    text = (FOLDER / f"{name}.py").read_text()
    tree = ast.parse(text)
    assert ast.get_docstring(tree)
    assert top_level(tree) <= ALLOWED
    assert "_dynamo.reset" not in text or name == "dynamo_reset"


@pytest.mark.parametrize("name", NAMES)
def test_it_loads_with_its_name_and_help(name: str) -> None:
    operation = operations.load(name)
    assert operation.name == name
    assert operation.help
    reason = operation.refuse("cpu")
    assert reason is None or len(reason) > 10


def test_the_matrix_is_wide_enough() -> None:
    loaded = [operations.load(name) for name in NAMES]
    work = [one for one in loaded if one.kind is Kind.WORK]
    assert len(work) >= 30
    assert len(loaded) - len(work) >= 25
    quick = [one for one in loaded if one.quick]
    assert len([one for one in quick if one.kind is Kind.WORK]) >= 6
    assert any(one.kind is Kind.OBSERVER for one in quick)


def test_the_catalogue_reads_the_same_without_importing() -> None:
    for file in catalogued(FOLDER):
        operation = operations.load(file.name)
        assert file.problem is None
        assert file.observes is (operation.kind is Kind.OBSERVER)
        assert (file.cost, file.quick) == (operation.cost.value, operation.quick)


def test_a_users_callable_is_an_operation() -> None:
    operation = operations.load("tests.conformance.users:twice")
    assert operation.name == "tests.conformance.users:twice"
    assert operation.run(operation.prepare()) == 4
    whole = operations.load("tests.conformance.users:whole")
    assert isinstance(whole, Operation)
    assert whole.run(whole.prepare()) == 9


@pytest.mark.parametrize(
    "name", ["no_such_operation", "tests.conformance.users:nothing", "tests.conformance.users:NINE"]
)
def test_what_is_no_operation_says_so(name: str) -> None:
    with pytest.raises(LookupError):
        operations.load(name)


@pytest.fixture(scope="session")
def alone() -> dict[str, dict[str, Any]]:
    """One process for all, each operation in a fork of it."""
    python = os.environ.get("FXRACE_PYTHON", sys.executable)
    ran = subprocess.run(
        [python, "-m", "tests.conformance.operations_alone"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=1800,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    lines = [line for line in ran.stdout.splitlines() if line.startswith("{")]
    assert lines, ran.stderr[-2000:]
    return {one["name"]: one for one in map(json.loads, lines)}


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_alone_it_is_the_same_every_time_and_leaves_nothing(
    alone: dict[str, dict[str, Any]], name: str
) -> None:
    found = alone[name]
    assert "broken" not in found, found
    if "refused" in found:
        pytest.skip(f"{name} {found['refused']}")
    assert found["raised"] is None
    assert found["runs"] == 3
    assert found["threads"] == 1
    assert found["off"] == []
    if operations.load(name).reuse is not Reuse.ONCE:
        assert found["differing"] == [None, None]
