"""Hand-overs that C code does: a plain lock round a region, a SimpleQueue between two threads."""

from __future__ import annotations

import queue
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch

from fxrace.core.borrowing import unordered
from fxrace.launch.record_file import read_trace
from fxrace.probe.attach import attached
from fxrace.probe.held_locks import held_now
from fxrace.probe.locks import NamedLock
from fxrace.probe.recorder import Recorder
from fxrace.records.trial import Trial
from tests.unit.probe.recording import BOUND_S, Recording, Side

TRIAL = Trial(target="t:run", knobs={"pressure": "none"})
PLAIN, AGAIN = threading.Lock(), threading.RLock()


class Server:
    """Traces as servers do: under a lock of its own."""

    def __init__(self) -> None:
        self.lock, self.changed = threading.Lock(), threading.Condition()

    def locked(self) -> None:
        with self.lock:
            trace()

    def conditioned(self) -> None:
        with self.changed:
            trace()

    def by_module(self) -> None:
        with PLAIN:
            trace()

    def reentrant(self) -> None:
        with AGAIN, AGAIN:
            trace()

    def bare(self) -> None:
        trace()

    def beside(self) -> None:
        with self.lock:
            pass
        trace()

    def of_its_own(self) -> None:
        with threading.Lock():
            trace()


def trace() -> None:
    torch.fx.symbolic_trace(torch.nn.ReLU())


@contextmanager
def watched(folder: Path) -> Iterator[Recorder]:
    recorder = Recording(folder).recorder
    with attached(TRIAL, recorder):
        yield recorder


def races(folder: Path, work: Callable[[], None]) -> int:
    """How many races are told of two threads, one after the other, whose locks are on record."""
    with watched(folder) as recorder:
        go = [threading.Lock(), threading.Lock()]
        for lock in go:
            lock.acquire()

        def body(turn: int) -> None:
            with NamedLock(f"own {turn}", recorder).held():
                assert go[turn].acquire(timeout=BOUND_S)
                work()

        sides = [Side(lambda turn=turn: body(turn), name=f"side {turn}") for turn in (0, 1)]
        for lock, side in zip(go, sides, strict=True):
            lock.release()
            side._thread.join(BOUND_S)
    return len(
        {(p.first.ident, p.second.ident) for p in unordered(read_trace(folder / "events.jsonl"))}
    )


@pytest.mark.parametrize("name", ["locked", "conditioned", "by_module", "reentrant"])
def test_two_threads_under_one_plain_lock_are_ordered(tmp_path: Path, name: str) -> None:
    assert races(tmp_path, getattr(Server(), name)) == 0


@pytest.mark.parametrize("name", ["bare", "beside", "of_its_own"])
def test_two_threads_under_none_or_another_are_not(tmp_path: Path, name: str) -> None:
    assert races(tmp_path, getattr(Server(), name)) == 1


def test_a_lock_counts_in_its_block_only() -> None:
    server = Server()
    assert held_now() == []
    with server.lock:
        inside = held_now()
        with PLAIN, AGAIN:
            assert held_now() == [server.lock, PLAIN, AGAIN]
    assert (inside, held_now()) == ([server.lock], [])


def test_a_lock_that_was_let_go_in_its_block_is_not_held() -> None:
    with PLAIN:
        PLAIN.release()
        seen = held_now()
        PLAIN.acquire()
    assert seen == []


def handed_over(folder: Path, box: Callable[[], object]) -> int:
    """Races of two threads of which the second traces after it got something from the first."""
    with watched(folder) as recorder:
        boxes = [box(), box()]

        def first() -> None:
            with NamedLock("a", recorder).held():
                trace()
            boxes[0].put(1)  # type: ignore[attr-defined]

        def second() -> None:
            boxes[0].get(timeout=BOUND_S)  # type: ignore[attr-defined]
            with NamedLock("b", recorder).held():
                trace()

        sides = [Side(second), Side(first)]
        for side in sides:
            side._thread.join(BOUND_S)
    return len(list(unordered(read_trace(folder / "events.jsonl"))))


def test_what_a_simple_queue_hands_over_is_ordered(tmp_path: Path) -> None:
    assert handed_over(tmp_path, lambda: queue.SimpleQueue()) == 0


def test_a_queue_made_before_the_hooks_is_not_seen(tmp_path: Path) -> None:
    made = [queue.SimpleQueue[int](), queue.SimpleQueue[int]()]
    assert handed_over(tmp_path, made.pop) > 0


def test_simple_queues_are_what_they_were(tmp_path: Path) -> None:
    real = queue.SimpleQueue
    with watched(tmp_path):
        box: queue.SimpleQueue[int] = queue.SimpleQueue()
        assert isinstance(box, real)
        box.put_nowait(3)
        assert (box.qsize(), box.get_nowait(), box.empty()) == (1, 3, True)
        with pytest.raises(queue.Empty):
            box.get(block=False)
        with ThreadPoolExecutor(1) as pool:
            assert type(pool._work_queue) is real
            assert pool.submit(lambda: 5).result(BOUND_S) == 5
    assert queue.SimpleQueue is real


def test_a_thread_that_waits_while_the_hooks_go_is_left_alone(tmp_path: Path) -> None:
    """It comes out of a wait of ours when nobody records any more, nor writes to another's file."""
    go, inside = threading.Event(), threading.Event()

    def work() -> str:
        inside.set()
        return "went on" if go.wait(BOUND_S) else "gave up"

    with watched(tmp_path) as recorder:
        trace()
        side = Side(work)
        assert inside.wait(BOUND_S)
        held_in_ours(side)
    recorder.close()
    other = tmp_path / "other"
    with other.open("w"):  # takes the number that has become free
        go.set()
        assert side.result() == "went on"
        recorder.emit("note", text="late")
    assert other.read_text() == ""


def held_in_ours(side: Side) -> None:
    """Until the thread stands in the wait that the hooks have put there."""
    for _ in range(10_000):
        frame = sys._current_frames().get(side.ident or 0)
        while frame is not None and not frame.f_code.co_filename.endswith("synchronisation.py"):
            frame = frame.f_back
        if frame is not None:
            return
        threading.Event().wait(0.001)
    raise AssertionError("it does not wait")
