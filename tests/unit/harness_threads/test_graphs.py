"""Who may capture when: alone on a device, after those that run live there, before those to come.

What is captured is stood in for: how a step computes as a graph, the tests on GPUs compare.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from fxrace.guards._gate import Gate
from harness import graphs
from harness.graphs import LIVE_FIRST, Captured

BOUND_S = 20.0
ROW, ONE = torch.ones(3), ("one length",)
NOBODY = nn.Module()


class Graph:
    def replay(self) -> None:
        """What was computed when it was captured stands."""


@dataclass
class Course:
    """What happened, in order; ``go`` lets what is called ``held`` end."""

    order: list[str] = field(default_factory=list)
    inside: threading.Event = field(default_factory=threading.Event)
    go: threading.Event = field(default_factory=threading.Event)

    def free(self, name: str) -> Callable[..., tuple[Tensor, ...]]:
        def work(given: Tensor) -> tuple[Tensor, ...]:
            self.order.append(name)
            return (given + 1,)

        return work

    def held(self, name: str) -> Callable[..., tuple[Tensor, ...]]:
        def work(given: Tensor) -> tuple[Tensor, ...]:
            self.order.append(f"{name} begins")
            self.inside.set()
            assert self.go.wait(BOUND_S)
            self.order.append(f"{name} ends")
            return (given + 1,)

        return work


@pytest.fixture
def course(monkeypatch: pytest.MonkeyPatch) -> Course:
    def captured(inputs: Any, work: Any, module: nn.Module, place: Any) -> graphs._Recording:
        static = tuple(given.clone() for given in inputs)
        graph: Any = Graph()
        return graphs._Recording(graph=graph, inputs=static, outputs=work(*static), gradients=())

    monkeypatch.setattr(graphs, "_captured", captured)
    monkeypatch.setattr(graphs._Place, "on", lambda device: device)
    monkeypatch.setattr(graphs, "_GATES", {})
    return Course()


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(3) as made:
        yield made


def warm(course: Course) -> Captured:
    """One whose next run of ONE captures."""
    made = Captured()
    for _ in range(LIVE_FIRST):
        made.run(ONE, (ROW,), course.free("live"), NOBODY)
    course.order.clear()
    return made


def stand_or_end(run: Future[Any]) -> None:
    """Wait until one of these threads stands at a gate, or this run is over without."""
    stop = time.monotonic() + BOUND_S
    while not (run.done() or any(map(at_gate, sys._current_frames().values()))):
        assert time.monotonic() < stop
        threading.Event().wait(0.001)


def at_gate(frame: FrameType | None) -> bool:
    while frame is not None and frame.f_code is not Gate._wait.__code__:
        frame = frame.f_back
    return frame is not None


def test_each_length_runs_live_twice_is_captured_once_and_replayed(course: Course) -> None:
    made, two = Captured(), ("another length",)
    for key in (ONE, two, ONE, two, ONE, ONE, two, two):
        (out,) = made.run(key, (ROW,), course.free(key[0]), NOBODY)
        assert torch.equal(out, ROW + 1)
    assert course.order == [ONE[0], two[0]] * LIVE_FIRST + [ONE[0], two[0]]


def test_a_capture_waits_for_what_runs_live_and_goes_before_what_comes(
    course: Course, pool: ThreadPoolExecutor
) -> None:
    made, other = warm(course), Captured()
    live = pool.submit(other.run, ONE, (ROW,), course.held("live"), NOBODY)
    assert course.inside.wait(BOUND_S)
    capture = pool.submit(made.run, ONE, (ROW,), course.free("captured"), NOBODY)
    stand_or_end(capture)
    late = pool.submit(Captured().run, ONE, (ROW,), course.free("late"), NOBODY)
    course.go.set()
    for run in (live, capture, late):
        run.result(BOUND_S)
    assert course.order == ["live begins", "live ends", "captured", "late"]


def test_what_runs_live_waits_for_a_capture(course: Course, pool: ThreadPoolExecutor) -> None:
    made, other = warm(course), Captured()
    capture = pool.submit(made.run, ONE, (ROW,), course.held("captured"), NOBODY)
    assert course.inside.wait(BOUND_S)
    live = pool.submit(other.run, ONE, (ROW,), course.free("live"), NOBODY)
    stand_or_end(live)
    course.go.set()
    for run in (live, capture):
        run.result(BOUND_S)
    assert course.order == ["captured begins", "captured ends", "live"]


def test_a_replay_waits_for_nobody(course: Course, pool: ThreadPoolExecutor) -> None:
    made, other = warm(course), warm(course)
    made.run(ONE, (ROW,), course.free("captured"), NOBODY)
    capture = pool.submit(other.run, ONE, (ROW,), course.held("captured"), NOBODY)
    assert course.inside.wait(BOUND_S)
    assert torch.equal(made.run(ONE, (ROW,), course.free("never"), NOBODY)[0], ROW + 1)
    course.go.set()
    capture.result(BOUND_S)
    assert "never" not in course.order


def test_devices_do_not_wait_for_each_other(course: Course, pool: ThreadPoolExecutor) -> None:
    made, elsewhere = warm(course), torch.ones(3, device="meta")
    capture = pool.submit(made.run, ONE, (ROW,), course.held("captured"), NOBODY)
    assert course.inside.wait(BOUND_S)
    Captured().run(ONE, (elsewhere,), course.free("on another"), NOBODY)
    assert course.order == ["captured begins", "on another"]
    course.go.set()
    capture.result(BOUND_S)


def test_a_capture_that_fails_lets_others_go_on(course: Course) -> None:
    made = warm(course)

    def failing(given: Tensor) -> tuple[Tensor, ...]:
        raise RuntimeError("no capture")

    with pytest.raises(RuntimeError, match="no capture"):
        made.run(ONE, (ROW,), failing, NOBODY)
    Captured().run(ONE, (ROW,), course.free("live"), NOBODY)
    assert made.run(ONE, (ROW,), course.free("again"), NOBODY)
    assert course.order == ["live", "again"]


@pytest.mark.gpu
def test_a_step_that_waits_for_the_device_spoils_no_capture(pool: ThreadPoolExecutor) -> None:
    """As a compiled call does that runs for the first time. Beside a capture it is an error."""
    row, made, beside = torch.ones(3, device="cuda:0"), Captured(), list[Future[Any]]()

    def waiting(given: Tensor) -> tuple[Tensor, ...]:
        torch.cuda.synchronize(given.device)
        return (given,)

    def work(given: Tensor) -> tuple[Tensor, ...]:
        if torch.cuda.is_current_stream_capturing():
            beside.append(pool.submit(Captured().run, ONE, (row,), waiting, NOBODY))
            stand_or_end(beside[0])
        return (given.sin(),)

    for _ in range(LIVE_FIRST + 2):
        (out,) = made.run(ONE, (row,), work, NOBODY)
        torch.testing.assert_close(out, row.sin())
    assert len(beside) == 1
    assert torch.equal(beside[0].result(BOUND_S)[0], row)
