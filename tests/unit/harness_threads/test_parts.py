"""Parts are found in folders; a bad one breaks itself only, and says how."""

from __future__ import annotations

from pathlib import Path

import pytest

from fxrace.probe.part import Part
from harness.config import DEFAULT_KNOBS
from harness.parts import PartBroken, load, load_preset, make, select
from tests.unit.harness_threads.trials import part_file

GOOD = '''"""Good."""
from __future__ import annotations
from dataclasses import dataclass
from fxrace.probe.part import Part

@dataclass(slots=True)
class Mine:
    word: "str" = "mine"

part = Part(build=Mine)
'''
BAD = {
    "syntax": ("def", "SyntaxError"),
    "imports": ("import surely_not_there", "ModuleNotFoundError"),
    "exits": ("raise SystemExit(3)", "SystemExit"),
    "empty": ('"""Nothing."""', "AttributeError"),
    "other": ("part = 3", "int"),
}


def test_every_default_is_a_part_that_loads() -> None:
    assert set(select({"pressure": "hold"})) == set(DEFAULT_KNOBS)


def test_a_users_part_is_loaded_by_path(tmp_path: Path) -> None:
    part_file(tmp_path, "locking", "mine", GOOD)
    part = load("locking", "mine", [tmp_path / "empty", tmp_path])
    assert make("locking", "mine", part).word == "mine"


@pytest.mark.parametrize("name", BAD)
def test_a_broken_part_says_which_and_why(tmp_path: Path, name: str) -> None:
    text, why = BAD[name]
    part_file(tmp_path, "locking", name, text)
    with pytest.raises(PartBroken) as caught:
        load("locking", name, [tmp_path])
    assert caught.value.part == f"locking={name}"
    assert why in caught.value.reason


@pytest.mark.parametrize("name", ["surely_not_there", "../none", "a.b", ""])
def test_an_unknown_name_is_broken_too(name: str) -> None:
    with pytest.raises(PartBroken):
        load("locking", name)


def test_a_preset_is_a_preset() -> None:
    assert load_preset("tiny").name == "tiny"
    with pytest.raises(PartBroken):
        load_preset("surely_not_there")


def test_a_builder_gets_the_recorder_only_when_it_asks() -> None:
    asks = Part(build=lambda recorder: ("got", recorder))
    silent = Part(build=lambda: "nothing")
    assert make("locking", "asks", asks, recorder=1) == ("got", 1)
    assert make("locking", "silent", silent, recorder=1) == "nothing"


def test_failing_to_build_is_broken() -> None:
    with pytest.raises(PartBroken, match="ZeroDivisionError"):
        make("locking", "bad", Part(build=lambda: 1 / 0))
