"""A schedule always ends, and says how: native waits, work elsewhere, endless loops."""

from __future__ import annotations

import threading
import time

import pytest

from fxrace.probe.explore.choices import InOrder, TwoStops
from fxrace.probe.explore.current import Current
from fxrace.probe.explore.played import End
from fxrace.probe.explore.schedule import Limits
from tests.unit.explore.toys import QUICK, once


def test_a_native_wait_is_passed_over_and_queues_when_it_comes_back() -> None:
    go = threading.Event()

    def waits(current: Current) -> str:
        go.wait(20)
        current.reach("after")
        return "waited"

    def frees(current: Current) -> str:
        current.reach("p")
        go.set()
        return "freed"

    played = once([waits, frees], InOrder((0, 1)))
    assert played.end is End.FINISHED
    assert [slip.thread for slip in played.slips] == [0]
    assert [ended.result for ended in played.ended] == ["waited", "freed"]


def test_who_waits_for_a_thread_that_takes_no_part_is_not_stuck() -> None:
    """As a caller of backward waits for a device thread, for longer than ``standing_s``."""

    def work() -> None:
        until = time.thread_time() + 2 * QUICK.standing_s
        while time.thread_time() < until:
            pass

    def waits(current: Current) -> str:
        helper = threading.Thread(target=work)
        helper.start()
        helper.join(60)
        return "waited"

    played = once([waits, lambda current: None], InOrder((0, 1)))
    assert played.end is End.FINISHED
    assert [slip.thread for slip in played.slips] == [0]
    assert played.ended[0].result == "waited"


def test_busy_work_is_not_passed_over() -> None:
    def busy(current: Current) -> int:
        until, n = time.thread_time() + 4 * QUICK.grace_s, 0
        while time.thread_time() < until:
            n += 1
        return n

    played = once([busy, lambda current: None], InOrder((0, 1)))
    assert not played.slips
    assert played.end is End.FINISHED


def test_a_child_process_that_works_is_not_passed_over() -> None:
    import subprocess
    import sys

    command = [sys.executable, "-c", f"import time; time.sleep({6 * QUICK.grace_s})"]

    def builds(current: Current) -> None:
        subprocess.run(command, check=True, capture_output=True, timeout=60)

    played = once([builds, lambda current: None], InOrder((0, 1)))
    assert not played.slips
    assert played.end is End.FINISHED


def test_a_thread_that_never_returns_ends_at_the_limit_and_the_others_unwind() -> None:
    stop, unwound = threading.Event(), list[str]()

    def endless(current: Current) -> None:
        current.reach("p")
        while not stop.is_set():
            pass

    def stands(current: Current) -> None:
        try:
            current.reach("p")
        except BaseException as error:
            unwound.append(type(error).__name__)
            raise

    limits = Limits(grace_s=0.05, standing_s=0.3, limit_s=0.5)
    played = once([endless, stands], TwoStops(first=1, at="p#1", other=0, other_at="x"), limits)
    stop.set()
    assert played.end is End.ENDLESS
    assert unwound == ["Abandoned"]
    assert played.is_dirty
    assert [stood.thread for stood in played.stood][-1] == 0
    assert not any(ended.returned for ended in played.ended)


@pytest.mark.parametrize(("spins", "end"), [(False, End.FINISHED), (True, End.ENDLESS)])
def test_only_what_used_its_processor_time_ends_before_the_outer_limit(
    spins: bool, end: End
) -> None:
    stop = threading.Event()

    def slow(current: Current) -> None:
        until = time.monotonic() + 1.0
        while not stop.is_set() and (spins or time.monotonic() < until):
            if not spins:
                current.reach("p")
                stop.wait(0.02)

    limits = Limits(grace_s=0.05, standing_s=0.3, limit_s=0.5, within_s=60.0)
    played = once([slow], InOrder((0,)), limits)
    stop.set()
    assert played.end is end
    assert played.lasted_s < 60.0


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_points_beyond_their_number_of_visits_are_none(order: tuple[int, int]) -> None:
    def body(current: Current) -> None:
        for _ in range(5):
            current.reach("p", at_most=2)

    played = once([body, lambda current: None], InOrder(order))
    assert [step.at for step in played.steps if step.at.startswith("p")] == ["p#1", "p#2"]
