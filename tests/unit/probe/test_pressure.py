"""What holds a thread, and what lets it go."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import pytest

from fxrace.probe.participants import participants
from fxrace.probe.pressure import hold, jitter
from tests.unit.probe.recording import BOUND_S, Recording, Side


class Stage:
    """A held thread A and a registered bystander B, both on their own threads."""

    def __init__(self, folder: Path) -> None:
        self.recording = Recording(folder)
        self.hold = hold.Hold(self.recording.recorder)
        self._leave = threading.Event()
        self._here = threading.Event()
        self.bystander = Side(self._stand_by)
        assert self._here.wait(BOUND_S)

    def _stand_by(self) -> None:
        with participants.taking_part("bystander"):
            self._here.set()
            assert self._leave.wait(BOUND_S)

    def held(self, region: str = "trace") -> Side:
        """A thread that enters a region; returns once it is held there."""
        side = Side(lambda: self._take_part(region))
        pause = threading.Event()
        for _ in range(int(BOUND_S / 0.01)):
            if any(held.ident == side.ident for held in list(self.hold._standing)):
                return side
            pause.wait(0.01)
        raise AssertionError("nothing was held")

    def _take_part(self, region: str) -> None:
        with participants.taking_part("held"):
            self.hold.inside(region)

    def go(self) -> None:
        self._leave.set()
        self.bystander.result()

    def reasons(self) -> list[str]:
        return [event.data["released_by"] for event in self.recording.of("hold")]


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def test_a_compiled_call_of_another_thread_lets_it_go(stage: Stage) -> None:
    side = stage.held()
    Side(stage.hold.called).result()
    side.result()
    assert stage.reasons() == ["call"]
    stage.go()


def test_its_own_calls_do_not(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hold, "BOUND_S", 0.1)

    def enter() -> None:
        with participants.taking_part("held"):
            stage.hold.called()
            stage.hold.inside("trace")

    Side(enter).result()
    assert stage.reasons() == ["bound"]
    stage.go()


def test_a_second_trace_lets_the_first_go_and_stands_in_its_place(stage: Stage) -> None:
    first = stage.held()
    second = stage.held()
    first.result()
    assert stage.reasons() == ["overlap"]
    Side(lambda: stage.hold.left("trace")).result()
    second.result()
    assert stage.reasons() == ["overlap", "overlap"]
    stage.go()


def test_nobody_is_held_when_nobody_else_could_come(stage: Stage) -> None:
    side = stage.held()
    stage.go()
    side.result()
    assert stage.reasons() == ["nobody"]
    stage._take_part("trace")
    assert stage.reasons() == ["nobody"]


def test_a_thread_that_waits_for_a_lock_cannot_come(tmp_path: Path) -> None:
    held = hold.Hold(Recording(tmp_path).recorder)
    with participants.taking_part("main"), participants.waiting("a lock"):
        Side(lambda: held.inside("trace")).result()
        assert not held._standing


def test_holds_per_thread_are_limited(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hold, "BOUND_S", 0.02)

    def often() -> None:
        for _ in range(hold.HOLDS_PER_THREAD + 3):
            stage._take_part("trace")

    Side(often).result()
    assert len(stage.reasons()) == hold.HOLDS_PER_THREAD
    stage.go()


def test_jitter_restores_the_switch_interval_and_depends_on_the_seed() -> None:
    before = sys.getswitchinterval()
    pressure = jitter.Jitter("1:0")
    pressure.start()
    assert sys.getswitchinterval() == pytest.approx(jitter.SWITCH_INTERVAL_S)
    pressure.stop()
    assert sys.getswitchinterval() == before


def test_jitter_draws_the_same_delays_for_the_same_seed_and_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slept: list[float] = []
    monkeypatch.setattr(jitter.time, "sleep", slept.append)
    for seed in ("1:0", "1:0", "2:0"):
        pressure = jitter.Jitter(seed)
        for _ in range(20):
            pressure.inside("trace")
    assert slept[:20] == slept[20:40] != slept[40:]
