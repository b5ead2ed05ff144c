"""Frames of other threads may be asked for at any moment, also while garbage is collected."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from fxrace.stacks import frame_of, frames_now, stack_of

BOUND_S = 60
ROOT = Path(__file__).parents[2]

#: A collection in the middle of the reading lets the looked-at thread leave all of its frames and
#: use their memory again. The stack that ``{look}`` makes must be the one that was there.
LEAVING = """
import gc, sys, threading
from fxrace.stacks import frame_of, stack_of

standing, leave, left, end = (threading.Event() for _ in range(4))

class Garbage:
    def __init__(self):
        self.me = self
    def __del__(self):
        leave.set()
        left.wait(60)

def deep(n):
    if n:
        return deep(n - 1)
    standing.set()
    leave.wait(60)

def others(n, *more):
    return others(n - 1, n, *more[:30]) if n else [[]] * 10

def work():
    deep(40)
    others(60)
    left.set()
    end.wait(60)

real = sys._current_frames
def taken():
    found = real()
    gc.set_threshold(gc.get_count()[0] + 10)  # the tenth allocation from here collects
    return found

sys._current_frames = taken
gc.disable()
gc.set_threshold(100_000)
thread = threading.Thread(target=work, daemon=True)
thread.start()
standing.wait(60)
Garbage()
gc.enable()
{look}
gc.set_threshold(700)
gc.collect()  # what was not collected before is now, so that the thread ends
left.wait(60)
end.set()
thread.join()
print([name.rpartition(".")[2] for _, _, name in stack].count("deep"))
"""
SAFE = "stack = stack_of(frame_of(thread.ident))"
PLAIN = """
from itertools import accumulate, chain, repeat
frames = []
frames.extend(accumulate(chain((taken()[thread.ident],), repeat("f_back", 42)), getattr))
stack = [(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name) for frame in frames]
"""


def ran(look: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", LEAVING.format(look=look)], cwd=ROOT, timeout=BOUND_S,
        capture_output=True, text=True,
    )  # fmt: skip


def test_a_thread_may_leave_its_frames_while_they_are_read() -> None:
    found = ran(SAFE)
    assert found.returncode == 0, found.stderr
    assert int(found.stdout) == 41


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="only 3.11 collects in there")
def test_the_schedule_is_one_that_plain_reading_does_not_survive() -> None:
    found = ran(PLAIN)
    assert found.returncode != 0 or int(found.stdout) != 41


def test_no_collection_starts_while_frames_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[bool] = []
    real = sys._current_frames
    monkeypatch.setattr(sys, "_current_frames", lambda: (taken.append(gc.isenabled()), real())[1])
    assert threading.get_ident() in frames_now()
    assert frame_of(threading.get_ident()) is not None
    assert taken == [False, False]
    assert gc.isenabled()
    gc.disable()
    try:
        frames_now()
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_a_thread_that_has_ended_has_no_frame() -> None:
    thread = threading.Thread(target=int)
    thread.start()
    thread.join()
    assert frame_of(thread.ident or 0) is None
    assert stack_of(None) == []
