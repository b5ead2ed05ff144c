"""Meetings add up in one order, let nobody go early, and let everybody go at a stop."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from harness.channel import Stopped
from harness.meeting import AtBarrier, Coordinated, Meeting, add_up
from tests.unit.harness_threads.threads import Background

MEMBERS, ROUNDS = 3, 5
Made = tuple[Meeting, Callable[[], None], threading.Event]


@pytest.fixture(params=["barrier", "coordinator"])
def made(request: pytest.FixtureRequest) -> Made:
    stop = threading.Event()
    if request.param == "barrier":
        return AtBarrier(MEMBERS, stop), lambda: None, stop
    coordinator = Coordinated(MEMBERS, stop)
    thread = Background(coordinator.serve, "coordinator")

    def end() -> None:
        coordinator.close()
        thread.result()

    return coordinator, end, stop


def brought(rank: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(rank)
    return [torch.randn(4, 3, generator=generator), torch.full((2,), 1.0 + rank)]


def test_everybody_gets_the_sums_in_rank_order(made: Made) -> None:
    meeting, end, _ = made

    def member(rank: int) -> list[Tensor]:
        for _ in range(ROUNDS):
            tensors = brought(rank)
            meeting.add(rank, tensors)
        return tensors

    threads = [Background(lambda rank=rank: member(rank)) for rank in reversed(range(MEMBERS))]
    wanted = [brought(rank) for rank in range(MEMBERS)]
    add_up(wanted)
    for thread in threads:
        assert all(map(torch.equal, thread.result(), wanted[0]))
    assert wanted[0][1].tolist() == [6.0, 6.0]
    end()


def test_nobody_goes_on_without_the_others_and_a_stop_frees_all(made: Made) -> None:
    meeting, _, stop = made
    early = [Background(lambda rank=rank: meeting.add(rank, brought(rank))) for rank in range(2)]
    assert all(thread.stuck for thread in early)
    stop.set()
    meeting.wake()
    for thread in early:
        with pytest.raises(Stopped):
            thread.result()
