"""Which pairs the words on the command line mean, and what a wrong word gets."""

from __future__ import annotations

import pytest

from fxrace.catalog.operations import operations
from fxrace.commands._pairs import chosen
from fxrace.errors import UnknownPart, UsageError
from fxrace.records.exploration import OperationFile

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


def test_the_folder_is_read_without_torch() -> None:
    found = {one.name: one for one in operations()}
    assert len(found) > 70
    assert not [one for one in found.values() if one.problem or not one.help]
    assert found["symbolic_trace"].quick
    assert sum(one.observes for one in found.values()) > 10
    assert {one.cost for one in found.values()} == {"cheap", "medium", "expensive"}
