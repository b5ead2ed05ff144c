"""Whom a standing thread waits for, as the explorer and the guard one_owner see it."""

from __future__ import annotations

import threading

import pytest

from fxrace.guards._owner import Owner, waits_for_somebody
from fxrace.probe.explore.standing import lock_owner
from fxrace.stacks import frame_of

BOUND_S = 20.0
WAITING = "def wait(event, bound, told):\n    told.set()\n    event.wait(bound)\n"


def until(condition) -> None:
    """Poll a thread's frame, which no event tells of; bounded."""
    tick = threading.Event()
    for _ in range(int(BOUND_S / 0.01)):
        if condition():
            return
        tick.wait(0.01)
    raise AssertionError("it did not come about")


def test_who_waits_for_the_guards_lock_waits_for_its_holder() -> None:
    real = threading.RLock()
    owner = Owner(lambda: real)
    with owner:
        waiter = threading.Thread(target=lambda: owner.acquire() and owner.release())
        waiter.start()
        me, other = threading.get_ident(), waiter.ident or 0
        until(lambda: (frame := frame_of(other)) and lock_owner(frame, other) == me)
        assert owner.holder == me
    waiter.join(BOUND_S)
    assert not waiter.is_alive() and owner.holder == 0


@pytest.mark.parametrize(
    ("file", "for_somebody"),
    [
        ("/x/app/worker.py", True),
        ("/x/fxrace/probe/explore/baton.py", False),
        ("/x/fxrace/probe/pressure/hold.py", False),
    ],
)
def test_a_thread_that_fxrace_holds_waits_for_nobody(file: str, for_somebody: bool) -> None:
    space: dict = {}
    exec(compile(WAITING, file, "exec"), space)
    leave, inside = threading.Event(), threading.Event()
    thread = threading.Thread(target=space["wait"], args=(leave, BOUND_S, inside))
    thread.start()
    assert inside.wait(BOUND_S)

    def frame():
        return frame_of(thread.ident or 0)

    until(lambda: (now := frame()) and now.f_code.co_filename.endswith("threading.py"))
    assert waits_for_somebody(frame()) is for_somebody
    leave.set()
    thread.join(BOUND_S)
