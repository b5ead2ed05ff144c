"""Runs a made-up test file under the plugin, and reads the document that the run wrote.

In the process of the test where nothing speaks against it: torch is there then, and importing it
is most of what a run costs. It must be there before: pytester takes away what a run imports, and
nobody survives importing torch twice. Nor does ``fxrace.watch``, which would tell one copy of a
module what ``fxrace.exclusive`` asks another.
"""

from __future__ import annotations

import json
import os
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
import torch  # noqa: F401 (see above)

import fxrace
import fxrace.testing.session

THERE = (fxrace.watch, fxrace.exclusive)
ROOT = Path(__file__).parents[3]
REPORT, PLUGIN = "report.json", "fxrace.pytest_plugin"
#: For a file with many tests to explore: each would import it in forks of its own.
WITH_TORCH = "import torch\n"
COUNTER = '''
import threading
import pytest


class Counter:
    """Reads, and later writes: two threads lose one of two additions."""

    def __init__(self):
        self.lock, self.value = threading.Lock(), 0

    def add(self):
        with self.lock:
            seen = self.value
        with self.lock:
            self.value = seen + 1
        with self.lock:
            assert self.value == seen + 1


class Safe(Counter):
    def __init__(self):
        super().__init__()
        self.whole = threading.Lock()

    def add(self):
        with self.whole:
            super().add()


@pytest.fixture
def counter():
    return Counter()


@pytest.fixture
def safe():
    return Safe()
'''


def plugin() -> list[str]:
    """How the plugin is named on the command line where it is not installed."""
    installed = any(one.value == PLUGIN for one in entry_points(group="pytest11"))
    return [] if installed else ["-p", PLUGIN]


def ran(
    pytester: pytest.Pytester, *words: str, own_process: bool = False
) -> tuple[pytest.RunResult, dict[str, Any]]:
    """The result and the document, empty where none was written."""
    before = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    pytester._monkeypatch.setenv("PYTHONPATH", os.pathsep.join(before))
    report = pytester.path / REPORT
    report.unlink(missing_ok=True)
    run = pytester.runpytest_subprocess if own_process else pytester.runpytest_inprocess
    usual = ("-p", "no:cacheprovider", *plugin(), "--fxrace-time=20m")
    result = run(*usual, f"--fxrace-report={report}", *words)
    return result, json.loads(report.read_text()) if report.exists() else {}


def became(document: dict[str, Any]) -> dict[str, str]:
    """Name of the test -> what it became."""
    return {one["test"].partition("::")[2]: one["became"] for one in document["tests"]}
