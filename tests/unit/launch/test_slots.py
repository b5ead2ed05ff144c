"""Slots: how many, which side, on which device."""

from __future__ import annotations

import pytest

from fxrace.errors import UsageError
from fxrace.launch.slots import slots, split_of


@pytest.mark.parametrize(
    ("gpus", "split", "expected"),
    [
        (None, None, (5, 3)),
        (8, None, (5, 3)),
        (1, None, (1, 1)),
        (2, None, (1, 1)),
        (3, None, (2, 1)),
        (4, None, (2, 2)),
        (16, None, (10, 6)),
        (8, "6:2", (6, 2)),
        (None, " 2 : 4 ", (2, 4)),
        (1, "1:1", (1, 1)),
    ],
)
def test_split(gpus: int | None, split: str | None, expected: tuple[int, int]) -> None:
    assert split_of(gpus, split) == expected


@pytest.mark.parametrize("count", range(2, 65))
def test_every_count_is_used_up_with_both_sides_there(count: int) -> None:
    targets, drafters = split_of(count, None)
    assert targets + drafters == count
    assert min(targets, drafters) >= 1


@pytest.mark.parametrize(
    ("gpus", "split"),
    [(0, None), (-1, None), (8, "5:4"), (8, "5"), (8, "a:b"), (8, "8:0"), (2, "0:2"), (8, "-1:9"),
     (8, ""), (1, "2:1")],
)  # fmt: skip
def test_what_cannot_be(gpus: int, split: str | None) -> None:
    with pytest.raises(UsageError) as caught:
        split_of(gpus, split)
    assert caught.value.remedy


def test_enough_devices() -> None:
    dealt = slots(3, None, ("cuda:0", "cuda:1", "cuda:2", "cuda:3"))
    assert dealt.targets == ("cuda:0", "cuda:1")
    assert dealt.drafters == ("cuda:2",)
    assert not dealt.oversubscribed


def test_too_few_devices_are_shared_round_robin() -> None:
    dealt = slots(8, "5:3", ("cuda:0", "cuda:1"))
    assert dealt.targets == ("cuda:0", "cuda:1", "cuda:0", "cuda:1", "cuda:0")
    assert dealt.drafters == ("cuda:1", "cuda:0", "cuda:1")
    assert dealt.oversubscribed


def test_one_slot_holds_both_sides() -> None:
    dealt = slots(1, None, ("cuda:0", "cuda:1"))
    assert dealt.targets == dealt.drafters == ("cuda:0",)
    assert dealt.oversubscribed


def test_no_device() -> None:
    with pytest.raises(UsageError):
        slots(8, None, ())
