"""One process with torch, of which all tests of this folder that run scripts take forks."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fxrace.launch.script_forks import ScriptForks


@pytest.fixture(scope="session")
def forks() -> Iterator[ScriptForks]:
    with ScriptForks(Path(sys.executable)) as found:
        yield found
