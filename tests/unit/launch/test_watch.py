"""When a trial counts as stuck: a clock, readings, a verdict."""

from __future__ import annotations

from fxrace.launch.watch import Reading, Watch
from fxrace.records.outcome import Stop
from fxrace.records.trial import Limits

LIMITS = Limits(trial_s=1000.0, silence_s=20.0, busy_s=300.0)


def looked(watch: Watch, until: int, *, cpu: float, writes: bool = False) -> list[Stop | None]:
    """One look a second; ``cpu`` processor seconds per second."""
    return [
        watch.look(float(s), Reading(written=s if writes else 0, cpu_s=cpu * s))
        for s in range(1, until + 1)
    ]


def test_silent_and_idle() -> None:
    said = looked(Watch(LIMITS, 0.0), 20, cpu=0.0)
    assert said == [None] * 19 + [Stop.SILENT]


def test_a_wait_that_polls_is_idle() -> None:
    assert looked(Watch(LIMITS, 0.0), 25, cpu=0.01)[-1] is Stop.SILENT


def test_silent_but_busy_gets_longer() -> None:
    said = looked(Watch(LIMITS, 0.0), 300, cpu=0.5)
    assert said == [None] * 299 + [Stop.SILENT]


def test_recording_is_life() -> None:
    said = looked(Watch(LIMITS, 0.0), 1000, cpu=0.0, writes=True)
    assert said == [None] * 999 + [Stop.TIMED_OUT]


def test_waiting_for_a_disk_is_not_idle() -> None:
    watch = Watch(LIMITS, 0.0)
    disk = Reading(written=0, cpu_s=0.0, on_disk=True)
    assert [watch.look(float(s), disk) for s in range(1, 300)] == [None] * 299
    assert watch.look(300.0, disk) is Stop.SILENT


def test_a_late_look_compares_readings_before_clocks() -> None:
    wrote, worked, neither = (Watch(LIMITS, 0.0) for _ in range(3))
    assert wrote.look(100.0, Reading(written=1, cpu_s=0.0)) is None
    assert worked.look(100.0, Reading(written=0, cpu_s=50.0)) is None
    assert neither.look(100.0, Reading(written=0, cpu_s=0.0)) is Stop.SILENT


def test_an_account_that_shrinks_is_no_work_and_hides_none() -> None:
    watch = Watch(LIMITS, 0.0)
    assert watch.look(1.0, Reading(written=0, cpu_s=90.0)) is None
    assert watch.look(2.0, Reading(written=0, cpu_s=10.0)) is None
    assert watch.look(20.0, Reading(written=0, cpu_s=20.0)) is None  # 10 s of work in 18
    assert watch.look(39.0, Reading(written=0, cpu_s=20.0)) is None
    assert watch.look(40.0, Reading(written=0, cpu_s=20.0)) is Stop.SILENT


def test_threads_that_wait_for_the_interpreter_lock_are_no_work() -> None:
    watch = Watch(LIMITS, 0.0)
    looks = [watch.look(float(at), Reading(written=0, cpu_s=0.032 * at)) for at in range(1, 21)]
    assert looks[:-1] == [None] * 19
    assert looks[-1] is Stop.SILENT
