"""What a guard takes from torch it gives back, whenever and in whatever order it goes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fxrace import guards
from fxrace.errors import UnknownPart
from tests.unit.guards.forked import outcome

ROOT = Path(__file__).parents[3]
CASES = (
    "each_alone",
    "any_order",
    "counted",
    "second_look_shared",
    "after_an_error",
    "refused_half_way",
    "with_threads_tracing",
    "taken_back_while_leaving",
    "installed_in_a_trace",
    "many_times",
    "compiles_nothing_again",
)


@pytest.mark.parametrize("case", CASES)
def test_torch_is_as_it_was(case: str) -> None:
    assert outcome(case, module="restoring") == []


def test_guards_are_listed_and_imported_without_torch() -> None:
    code = (
        "import sys; from fxrace import guards; "
        "[guards.load(name) for name in guards.available()]; assert 'torch' not in sys.modules"
    )
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, timeout=60, capture_output=True)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("name", guards.available())
def test_a_guard_says_what_it_cures_and_what_not(name: str) -> None:
    guard = guards.load(name)
    assert guard.cures and guard.cannot_cure
    assert all(sentence.endswith(".") for sentence in guard.cannot_cure)
    assert guards.available()[name]


def test_an_unknown_guard_is_refused_by_name() -> None:
    with pytest.raises(UnknownPart) as caught:
        guards.install("no_such_guard")
    assert "one_owner" in caught.value.remedy
