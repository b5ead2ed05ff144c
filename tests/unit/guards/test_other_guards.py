"""The guards about caches, configuration, random numbers, locks: red without, green with."""

from __future__ import annotations

import pytest
import torch

from fxrace import guards
from fxrace.guards._swap import expecting
from tests.unit.guards.forked import outcome

NOW = tuple(int(word) for word in torch.__version__.split(".")[:2])

#: scenario: (guard, the first torch in which it is red without the guard, where the guard works)
CURED = {
    "duplicate_compiles": ("compile_once", (2, 0), (2, 0)),
    "duplicate_compiles_fullgraph": ("compile_once", (2, 0), (2, 0)),
    "copies_count_for_no_limit": ("compile_once", (2, 0), (2, 0)),
    "config_in_threads": ("inherit_config", (2, 12), (2, 0)),
    "random_masks_reentrant": ("private_rng", (2, 0), (2, 12)),
    "random_masks_nonreentrant": ("private_rng", (2, 0), (2, 12)),
    "random_stream_of_others": ("private_rng", (2, 0), (2, 12)),
    "engine_under_the_lock": ("no_circle", (2, 0), (2, 0)),
    "eager_module_that_says_it_runs": ("readers_writer", (2, 0), (2, 0)),
    "running_beside_trace": ("readers_writer", (2, 0), (2, 0)),
}
#: What ``one_owner`` has of compile_once in it.
BY_ONE_OWNER = [name for name, (guard, *_) in CURED.items() if guard == "compile_once"]
#: scenario: guard with which, and without which, it is good
GOOD = {
    "compiled_call_in_region": "private_rng",
    "copied_metadata": "isolated",
    "compiles_after_warm_up": "",
}
#: As above, and without its guard a race that may go either way.
GUARDED = {"readers_that_come_to_trace": "readers_writer"}
READERS = {*GUARDED, "eager_module_that_says_it_runs", "running_beside_trace"}


def more(name: str, *guards: str) -> list[str]:
    return outcome(name, guards, module="reader_scenarios" if name in READERS else "more_scenarios")


@pytest.mark.parametrize("name", CURED)
def test_it_is_red_without_a_guard(name: str) -> None:
    assert bool(more(name)) is (CURED[name][1] <= NOW)


@pytest.mark.parametrize("name", CURED)
def test_it_is_green_with_its_guard(name: str) -> None:
    guard, _, works = CURED[name]
    found = more(name, guard)
    if works <= NOW:
        assert found == []
    else:
        assert "GuardRefused" in found[0]


@pytest.mark.parametrize("name", BY_ONE_OWNER)
@pytest.mark.parametrize("names", [("one_owner",), ("one_owner", "compile_once")], ids="+".join)
def test_who_waits_for_the_owner_looks_again(name: str, names: tuple[str, ...]) -> None:
    assert more(name, *names) == []


@pytest.mark.parametrize("name", GOOD)
def test_it_is_good_with_and_without(name: str) -> None:
    guard = GOOD[name]
    assert more(name) == []
    if guard and not (guard == "private_rng" and NOW < (2, 12)):
        assert more(name, guard) == []


@pytest.mark.parametrize("name", GUARDED)
def test_it_is_good_with_its_guard(name: str) -> None:
    assert more(name, GUARDED[name]) == []


def test_code_that_somebody_else_has_put_in_is_told_from_a_torch_we_do_not_know() -> None:
    def reader() -> None: ...

    with pytest.raises(guards.GuardRefused, match="not the code this guard knows"):
        expecting(reader, "_flag")
    reader.__code__ = reader.__code__.replace(co_filename="/elsewhere/hooks.py")
    with pytest.raises(guards.GuardRefused, match=r"/elsewhere/hooks\.py") as caught:
        expecting(reader, "_flag")
    assert "first" in caught.value.remedy
    assert expecting(reader) is reader
