"""A fork says all, dies, or is given up; and nothing of it comes back but words."""

from __future__ import annotations

import os
import signal
import time

import pytest

from fxrace.probe.explore.interference_fork import End, Say, forked
from fxrace.probe.zygote import thread_count


@pytest.fixture(autouse=True)
def one_thread() -> None:
    if thread_count() != 1:
        pytest.skip("this process has more than one thread, and a fork would lose them")


def test_what_it_says_is_heard_in_order() -> None:
    heard = forked(lambda say: [say({"is": "n", "n": n}) for n in range(3)] and None, limit_s=20)
    assert heard.end is End.SAID_ALL
    assert [m["n"] for m in heard.all("n")] == [0, 1, 2]
    assert heard.last("nothing") is None


def test_an_error_of_the_driver_is_said() -> None:
    def body(say: Say) -> None:
        raise ValueError("of ours")

    heard = forked(body, limit_s=20)
    assert heard.end is End.SAID_ALL
    assert heard.messages[-1] == {"is": "broken", "reason": "ValueError: of ours"}


def test_a_death_is_a_crash_with_its_signal_and_the_words_before() -> None:
    def body(say: Say) -> None:
        say({"is": "at", "name": "here"})
        os.kill(os.getpid(), signal.SIGSEGV)

    heard = forked(body, limit_s=20)
    assert heard.end is End.CRASHED
    assert heard.signal == signal.SIGSEGV
    assert heard.last("at") == {"is": "at", "name": "here"}
    assert "Segmentation fault" in heard.words


def test_one_that_does_not_end_is_killed_and_its_stacks_are_kept() -> None:
    def body(say: Say) -> None:
        time.sleep(120)

    heard = forked(body, limit_s=3)
    assert heard.end is End.SILENT
    assert "time" in heard.words or "body" in heard.words


def test_what_it_changes_stays_there() -> None:
    seen: list[int] = []
    forked(lambda say: seen.append(1), limit_s=20)
    assert seen == []
