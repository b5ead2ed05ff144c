"""axis ``locking``: transparent, callable from any thread, reentrant per drafter, closes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from fxrace.probe.recorder import Recorder
from harness.contracts import Call, Locking, Phase
from harness.parts import make
from tests.conformance.folder import names, usable
from tests.unit.harness_threads.threads import Background

CALLS = [
    Call(site="step", drafter=0, phase=Phase.STEP),
    Call(site="step", drafter=0, phase=Phase.WARMUP),
    Call(site="attention", drafter=0, phase=Phase.FORWARD, key=("a",)),
    Call(site="attention", drafter=0, phase=Phase.RECOMPUTE, key=("a",)),
]


@pytest.fixture(params=names("locking"))
def lock(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Locking]:
    recorder = Recorder(tmp_path / "events.jsonl")
    live = make(
        "locking", request.param, usable("locking", request.param), recorder=recorder
    )  # fmt: skip
    yield live
    live.close()
    recorder.close()


@pytest.mark.parametrize("call", CALLS, ids=lambda c: f"{c.site}-{c.phase.value}")
def test_it_returns_and_raises_what_the_work_does(lock: Locking, call: Call) -> None:
    result, error = object(), KeyError("planted")

    def fails() -> None:
        raise error

    for _ in range(3):
        assert Background(lambda: lock.around(call, lambda: result)).result() is result
        with pytest.raises(KeyError) as caught:
            Background(lambda: lock.around(call, fails)).result()
        assert caught.value is error


def test_the_work_runs_exactly_once(lock: Locking) -> None:
    for call in CALLS:
        done: list[int] = []
        Background(lambda call=call, done=done: lock.around(call, lambda: done.append(1))).result()
        assert done == [1]


def test_calls_nest_within_a_drafter(lock: Locking) -> None:
    step, _, forward, recompute = CALLS

    def nested() -> int:
        return lock.around(
            step, lambda: lock.around(forward, lambda: lock.around(recompute, lambda: 7))
        )

    assert Background(nested).result() == 7


def test_another_thread_may_work_for_the_same_drafter(lock: Locking) -> None:
    """On CUDA a recompute runs on autograd's device thread while the drafter's thread waits."""
    step, _, forward, recompute = CALLS

    def waits_for(call: Call) -> int:
        return Background(lambda: lock.around(call, lambda: 7)).result()

    for call in (forward, recompute):
        outer = Background(lambda call=call: lock.around(step, lambda: waits_for(call)))
        assert outer.result() == 7


def test_many_threads_and_drafters_get_through(lock: Locking) -> None:
    start = threading.Barrier(4)

    def body(drafter: int) -> int:
        start.wait(10)
        total = 0
        for number in range(20):
            step = Call(site="step", drafter=drafter, phase=Phase.STEP)
            inner = Call(
                site="attention", drafter=drafter, phase=Phase.FORWARD, key=(number % 3,)
            )  # fmt: skip
            total += lock.around(step, lambda call=inner: lock.around(call, lambda: 1))
        return total

    threads = [Background(lambda d=d: body(d)) for d in range(4)]
    assert [thread.result() for thread in threads] == [20] * 4


def test_a_failure_leaves_nothing_locked(lock: Locking) -> None:
    def fails() -> None:
        raise KeyError

    for call in CALLS:
        with pytest.raises(KeyError):
            Background(lambda call=call: lock.around(call, fails)).result()
    other = Call(site="step", drafter=1, phase=Phase.STEP)
    inner = Call(site="attention", drafter=1, phase=Phase.FORWARD, key=("a",))
    entered = Background(lambda: lock.around(other, lambda: lock.around(inner, lambda: 7)))
    assert entered.result() == 7


def test_closing_ends_its_threads(lock: Locking) -> None:
    before = set(threading.enumerate())
    lock.around(CALLS[2], lambda: None)
    started = set(threading.enumerate()) - before
    Background(lock.close).result()
    assert not [thread for thread in started if thread.is_alive()]
