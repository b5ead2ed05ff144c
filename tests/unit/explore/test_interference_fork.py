"""A fork says all, dies, or is given up; and nothing of it comes back but words.

A fork keeps one thread, and this process has more (a test runner's own); so each test forks in a
process of its own.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import TypeVar

from fxrace.probe.explore.interference_fork import End, Heard, Say, forked
from fxrace.probe.zygote import thread_count

T = TypeVar("T")


def apart(work: Callable[[], T]) -> T:
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(work).result(60)


def counting(say: Say) -> None:
    for number in range(3):
        say({"is": "n", "n": number})


def raising(say: Say) -> None:
    raise ValueError("of ours")


def dying(say: Say) -> None:
    say({"is": "at", "name": "here"})
    os.kill(os.getpid(), signal.SIGSEGV)


def staying(say: Say) -> None:
    time.sleep(120)


def count() -> Heard:
    return forked(counting, limit_s=20)


def fail() -> Heard:
    return forked(raising, limit_s=20)


def die() -> Heard:
    return forked(dying, limit_s=20)


def stay() -> Heard:
    return forked(staying, limit_s=3)


def change() -> list[int]:
    seen: list[int] = []
    forked(lambda say: seen.append(1), limit_s=20)
    return seen


def test_a_process_of_its_own_can_be_forked() -> None:
    assert apart(thread_count) == 1


def test_what_it_says_is_heard_in_order() -> None:
    heard = apart(count)
    assert heard.end is End.SAID_ALL
    assert [m["n"] for m in heard.all("n")] == [0, 1, 2]
    assert heard.last("nothing") is None


def test_an_error_of_the_driver_is_said() -> None:
    heard = apart(fail)
    assert heard.end is End.SAID_ALL
    assert heard.messages[-1] == {"is": "broken", "reason": "ValueError: of ours"}


def test_a_death_is_a_crash_with_its_signal_and_the_words_before() -> None:
    heard = apart(die)
    assert heard.end is End.CRASHED
    assert heard.signal == signal.SIGSEGV
    assert heard.last("at") == {"is": "at", "name": "here"}
    assert "Segmentation fault" in heard.words


def test_one_that_does_not_end_is_killed_and_its_stacks_are_kept() -> None:
    heard = apart(stay)
    assert heard.end is End.SILENT
    assert "staying" in heard.words


def test_what_it_changes_stays_there() -> None:
    assert apart(change) == []
