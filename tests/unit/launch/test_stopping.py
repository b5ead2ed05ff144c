"""Signals raise a level and raise nothing else."""

from __future__ import annotations

import signal
import threading

import pytest

from fxrace.launch.stopping import Level, Stopping


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_levels_and_handlers(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with Stopping() as stopping:
        levels = [stopping.level]
        for _ in range(3):
            signal.raise_signal(number)
            levels.append(stopping.level)
    assert levels == [Level.RUN, Level.FINISH, Level.KILL, Level.KILL]
    assert signal.getsignal(number) is before


def test_off_the_main_thread_only_press_counts() -> None:
    before, levels = signal.getsignal(signal.SIGINT), []

    def work() -> None:
        with Stopping() as stopping:
            levels.append(stopping.level)
            stopping.press()
            levels.append(stopping.level)
            levels.append(signal.getsignal(signal.SIGINT) is before)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(10)
    assert levels == [Level.RUN, Level.FINISH, True]
