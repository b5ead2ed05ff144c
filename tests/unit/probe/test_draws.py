"""Checkpoints on one generator: a foreign draw is told, an undisturbed recompute is not."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from torch.utils.checkpoint import checkpoint

from fxrace.probe.attach import attached
from fxrace.probe.draws import Sampled, sample
from fxrace.records.event import Event
from fxrace.records.trial import Trial
from tests.unit.probe.recording import BOUND_S, Recording, Side

KINDS = pytest.mark.parametrize("reentrant", [True, False])


@pytest.fixture
def recording(tmp_path: Path) -> Iterator[Recording]:
    made = Recording(tmp_path)
    with attached(Trial(target="t:run", knobs={"pressure": "none"}), made.recorder):
        yield made


def train(block: Callable[[torch.Tensor], torch.Tensor], *, reentrant: bool) -> None:
    x = torch.ones(64, requires_grad=True)
    checkpoint(block, x, use_reentrant=reentrant).sum().backward()


def dropped(x: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.dropout(x) * x


def collide(other: Callable[[], None], *, reentrant: bool) -> None:
    """The other one does its work while this thread's forward stands before its draw."""
    inside, done = threading.Event(), threading.Event()

    def block(x: torch.Tensor) -> torch.Tensor:
        if not inside.is_set():
            inside.set()
            assert done.wait(BOUND_S)
        return dropped(x)

    side = Side(lambda: train(block, reentrant=reentrant), name="victim")
    assert inside.wait(BOUND_S)
    other()
    done.set()
    side.result()


def of_victim(recording: Recording) -> Event:
    (event,) = (e for e in recording.of("rng") if e.thread == "victim")
    return event


@KINDS
def test_a_checkpoint_in_a_checkpoint_of_another_thread_is_told(
    recording: Recording, reentrant: bool
) -> None:
    collide(lambda: train(dropped, reentrant=reentrant), reentrant=reentrant)
    event = of_victim(recording)
    assert event.data["differ"]
    others = {(other["thread"], other["region"]) for other in event.data["others"]}
    assert others == {("MainThread", "checkpoint"), ("MainThread", "rng")}
    assert all(other["frames"] for other in event.data["others"])
    assert any(frame[2].endswith("train") for frame in event.data["frames"])


@KINDS
def test_a_plain_draw_is_told_with_the_threads_that_are_there(
    recording: Recording, reentrant: bool
) -> None:
    collide(lambda: torch.rand(7).sum().item(), reentrant=reentrant)
    event = of_victim(recording)
    assert event.data["differ"]
    assert "MainThread" in {other["thread"] for other in event.data["others"]}
    assert {other["region"] for other in event.data["others"]} == {"call"}


def test_of_many_threads_the_oldest_are_named(recording: Recording) -> None:
    leave = threading.Event()
    idle = [Side(lambda: leave.wait(BOUND_S), name=f"idle-{n}") for n in range(6)]
    collide(lambda: torch.rand(7).sum().item(), reentrant=False)
    leave.set()
    for side in idle:
        side.result()
    others = [other["thread"] for other in of_victim(recording).data["others"]]
    assert others[0] == "MainThread"
    assert len(others) == 4


@KINDS
def test_one_that_draws_from_its_own_generator_disturbs_nobody(
    recording: Recording, reentrant: bool
) -> None:
    own = torch.Generator().manual_seed(3)
    collide(lambda: torch.rand(7, generator=own).sum().item(), reentrant=reentrant)
    collide(lambda: train(lambda x: x * x, reentrant=reentrant), reentrant=reentrant)
    assert recording.of("rng") == []


@KINDS
def test_a_thread_alone_and_threads_in_turn_are_not_told(
    recording: Recording, reentrant: bool
) -> None:
    train(dropped, reentrant=reentrant)
    for _ in range(3):
        Side(lambda: train(dropped, reentrant=reentrant)).result()
    assert recording.of("rng") == []


def test_an_early_stop_leaves_the_recompute_without_an_error(recording: Recording) -> None:
    train(lambda x: (x * x).sin() + 1, reentrant=False)
    exits = [e for e in recording.of("region") if e.data["edge"] == "exit"]
    assert {"recompute", "rng"} <= {e.data["region"] for e in exits}
    assert not [e for e in exits if "error" in e.data]


def test_torchs_own_check_says_what_it_would_have_said() -> None:
    told: list[int] = []
    one, two = ({"shape": n} for n in (1, 2))
    ones, twos = torch.ones(3), torch.ones(3) * 2

    def described(value: object, tensor: torch.Tensor) -> Sampled:
        return Sampled(value, tensor, lambda: told.append(1))

    assert described(one, ones) == described(one, torch.ones(3))
    assert described(one, ones) != described(two, ones)
    assert (str(described(one, ones)), told) == (str(one), [])
    assert described(one, ones) == described(one, twos)
    assert told == [1]


def test_only_plain_memory_is_read() -> None:
    fake = torch._subclasses.FakeTensorMode()
    long = torch.arange(5000)
    assert sample(long) == sample(long.clone())
    assert sample(long) != sample(long.flip(0))
    with fake:
        assert sample(torch.ones(3)) is None
    assert sample(torch.ones(3, 3).t()[1:]) is None
    assert sample(torch.ones(0)) is None
    assert sample("no tensor") is None
    wrapped: list[int | None] = []
    torch.func.vmap(lambda row: wrapped.append(sample(row)) or row)(torch.ones(2, 2))
    assert wrapped == [None]
