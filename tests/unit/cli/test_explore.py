"""Which pairs the words on the command line mean, and what a wrong word gets."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fxrace.catalog.operations import operations
from fxrace.commands._pairs import chosen, settings_of, wanted
from fxrace.errors import UnknownPart, UsageError
from fxrace.records import wire
from fxrace.records.exploration import OperationFile, PairVerdict
from tests.unit.render.explorations import exploration

KNOWN = (
    OperationFile(name="trace", help="t", quick=True),
    OperationFile(name="call", help="c"),
    OperationFile(name="see", help="s", observes=True, quick=True),
    OperationFile(name="torn", help="", problem="syntax error in line 1"),
)


def test_two_names_are_explored_both_ways() -> None:
    assert chosen(KNOWN, ("trace", "call"), matrix=False, quick=False) == (
        ("trace", "call"), ("call", "trace"),
    )  # fmt: skip
    assert chosen(KNOWN, ("trace", "trace"), matrix=False, quick=False) == (("trace", "trace"),)


def test_an_observer_is_never_stopped() -> None:
    assert chosen(KNOWN, ("trace", "see"), matrix=False, quick=False) == (("trace", "see"),)
    every = chosen(KNOWN, (), matrix=True, quick=False)
    assert {a for a, _ in every} == {"trace", "call"}
    assert {b for _, b in every} == {"trace", "call", "see"}
    assert len(every) == 6


def test_quick_takes_the_subset_and_names_narrow_the_matrix() -> None:
    assert chosen(KNOWN, (), matrix=False, quick=True) == (("trace", "trace"), ("trace", "see"))
    assert len(chosen(KNOWN, ("trace", "mine:go"), matrix=True, quick=False)) == 4


@pytest.mark.parametrize(
    ("names", "error"),
    [(("trcae", "call"), UnknownPart), (("torn", "call"), UsageError), (("trace",), UsageError),
     ((), UsageError), (("trace", "call", "see"), UsageError)],
)  # fmt: skip
def test_words_that_mean_nothing(names: tuple[str, ...], error: type[Exception]) -> None:
    with pytest.raises(error):
        chosen(KNOWN, names, matrix=False, quick=False)


OPTIONS = {
    "names": (), "matrix": False, "quick": False, "failed_in": None, "guarded": (), "scripts": None,
    "bound": None, "grain": None, "strategy": None, "budget": 1.0, "max_schedules": None,
    "max_time": None, "seed": 0,
}  # fmt: skip


def test_pairs_that_failed_elsewhere(tmp_path: Path) -> None:
    path = tmp_path / "document.json"
    path.write_text(wire.pretty(exploration()))
    known = tuple(
        OperationFile(name=name, help="h")
        for name in {name for row in exploration().pairs for name in (row.a, row.b)}
    )
    failed = [r for r in exploration().pairs if r.verdict is PairVerdict.FINDING]
    assert 0 < len(failed) < len(exploration().pairs)
    found = wanted(known, {**OPTIONS, "failed_in": path}, ordered=True)
    assert found == tuple((row.a, row.b) for row in failed)
    with pytest.raises(UsageError, match="says which pairs"):
        wanted(known, {**OPTIONS, "failed_in": path, "matrix": True}, ordered=True)
    with pytest.raises(UnknownPart):
        wanted(KNOWN, {**OPTIONS, "failed_in": path}, ordered=True)


def test_a_document_without_failures_or_of_another_kind(tmp_path: Path) -> None:
    for text in ("{}", "no JSON", wire.pretty(replace(exploration(), pairs=()))):
        path = tmp_path / "document.json"
        path.write_text(text)
        with pytest.raises(UsageError):
            wanted(KNOWN, {**OPTIONS, "failed_in": path}, ordered=True)


def test_guards_are_a_setting() -> None:
    """Pairs with one and pairs without are stored apart; scripts have none."""
    assert "guard" not in settings_of(OPTIONS)
    guarded = {**OPTIONS, "guarded": ("isolated", "no_circle")}
    assert settings_of(guarded)["guard"] == "isolated,no_circle"
    assert settings_of({**guarded, "bound": 1})["guard"] == "isolated,no_circle"
    with pytest.raises(UnknownPart):
        settings_of({**OPTIONS, "guarded": ("isolatd",)})
    with pytest.raises(UsageError, match="without a guard"):
        settings_of({**guarded, "scripts": True})


def test_the_folder_is_read_without_torch() -> None:
    found = {one.name: one for one in operations()}
    assert len(found) > 70
    assert not [one for one in found.values() if one.problem or not one.help]
    assert found["symbolic_trace"].quick
    assert sum(one.observes for one in found.values()) > 10
    assert {one.cost for one in found.values()} == {"cheap", "medium", "expensive"}
