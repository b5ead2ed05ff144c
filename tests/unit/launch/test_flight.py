"""The rules of one trial, told by hand: no process, a clock that only moves when told."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import Any

import pytest

from fxrace.launch import flight as flights
from fxrace.launch import stacks
from fxrace.launch.flight import KILL_PATIENCE_S, TERM_GRACE_S, Flight
from fxrace.launch.folder import prepare
from fxrace.probe.zygote import Zygote
from fxrace.records.outcome import Stop
from tests.unit.launch.conftest import make_trial


class Clock:
    """Seconds that pass when told."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def sent() -> list[int]:
    return []


@pytest.fixture
def flight(
    tmp_path: Path, clock: Clock, sent: list[int], monkeypatch: pytest.MonkeyPatch
) -> Flight:
    monkeypatch.setattr(flights, "processor_time", lambda _pid: (0.0, False))
    monkeypatch.setattr(stacks, "take", lambda *_, **__: stacks.Stacks())
    trial = make_trial("nothing", silence_s=5.0)
    return Flight(trial, prepare(tmp_path, trial), requested=clock.now, send=sent.append, gil=True)


def ended(at: float, *, status: int | None = None, killed: int | None = None) -> dict[str, Any]:
    return {"at": at, "status": status, "signal": killed}


def test_term_then_kill_then_given_up(flight: Flight, clock: Clock, sent: list[int]) -> None:
    flight.started(1, clock.now)
    flight.look(clock)
    assert sent == []
    clock.now += 5.0
    flight.look(clock)
    flight.look(clock)
    assert sent == [signal.SIGTERM]
    clock.now += TERM_GRACE_S + 0.01
    flight.look(clock)
    flight.look(clock)
    assert sent == [signal.SIGTERM, signal.SIGKILL]
    assert not flight.immortal(clock.now + KILL_PATIENCE_S)
    assert flight.immortal(clock.now + KILL_PATIENCE_S + 0.1)
    ending = flight.given_up(clock)
    assert (ending.stop, ending.code) == (Stop.SILENT, None)
    assert [what for what, _ in ending.blind] == ["exit"]


def test_killed_by_us_is_silent(flight: Flight, clock: Clock) -> None:
    flight.started(1, clock.now)
    clock.now += 5.0
    flight.look(clock)
    ending = flight.ended(ended(clock.now + 0.1, killed=signal.SIGTERM), clock)
    assert (ending.stop, ending.code) == (Stop.SILENT, signal.SIGTERM)
    assert ending.duration_s == pytest.approx(5.1)


def test_an_end_of_its_own_while_being_judged_counts(flight: Flight, clock: Clock) -> None:
    flight.started(1, clock.now)
    clock.now += 5.0
    flight.look(clock)
    ending = flight.ended(ended(clock.now - 0.1, status=0), clock)
    assert (ending.stop, ending.code) == (Stop.EXITED, 0)


def test_interrupted(flight: Flight, clock: Clock, sent: list[int]) -> None:
    flight.started(1, clock.now)
    flight.interrupt(clock.now)
    flight.interrupt(clock.now)
    assert sent == [signal.SIGKILL]
    ending = flight.ended(ended(clock.now + 0.1, killed=signal.SIGKILL), clock)
    assert ending.stop is Stop.INTERRUPTED


def test_overhead_is_what_the_trial_did_not_use(flight: Flight, clock: Clock) -> None:
    flight.started(1, clock.now + 0.02)
    clock.now += 1.05
    ending = flight.ended(ended(101.02, status=0), clock)
    assert ending.duration_s == pytest.approx(1.0)
    assert ending.overhead_s == pytest.approx(0.05)


def test_refused(flight: Flight, clock: Clock) -> None:
    ending = flight.refused("two threads", clock)
    assert (ending.stop, ending.code) == (Stop.NOT_STARTED, None)
    assert ending.blind == (("start", "two threads"),)


def test_a_zygote_with_a_second_thread_refuses_to_fork(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    done = threading.Event()
    other = threading.Thread(target=done.wait, args=(30,))
    other.start()
    try:
        Zygote(0, writer)._start({"trial": "7", "command": None, "directory": str(tmp_path)})
        assert b'"refused"' in os.read(reader, 4096)
    finally:
        done.set()
        other.join()
        os.close(reader)
        os.close(writer)
