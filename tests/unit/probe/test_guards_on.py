"""fxrace's own guards are on record: what they keep per thread, and who waits for their lock."""

from __future__ import annotations

import threading
from contextlib import nullcontext
from pathlib import Path

from fxrace import guards
from fxrace.guards._owner import Owner
from fxrace.probe.participants import participants
from tests.unit.guards.parked import until
from tests.unit.probe.test_hooks import watched


def test_a_guard_that_goes_on_and_off_is_on_record(tmp_path: Path) -> None:
    before = guards.install("private_rng")
    with watched(tmp_path) as recording, guards.install("compile_once"):
        before.remove()
    told = [(event.data["edge"], event.data["guard"]) for event in recording.of("guard")]
    assert told == [
        ("on", "private_rng"), ("on", "compile_once"),
        ("off", "private_rng"), ("off", "compile_once"),
    ]  # fmt: skip


def test_what_a_guard_keeps_per_thread_is_on_record(tmp_path: Path) -> None:
    with guards.install("isolated"), watched(tmp_path) as recording:
        (event,) = recording.of("guard")
    assert "fx.patcher" in event.data["keeps"]


def test_who_waits_for_a_guards_lock_is_not_able_to_come(tmp_path: Path) -> None:
    real, done = threading.RLock(), threading.Event()
    owner = Owner(lambda: real)

    def other() -> None:
        with participants.taking_part("other"), owner:
            assert done.wait(60)

    def able() -> bool:
        return participants.others_able()

    with watched(tmp_path), participants.taking_part("me"):
        with owner:
            thread = threading.Thread(target=other)
            thread.start()
            until(lambda: "other" in {one.name for one in threading.enumerate()} and not able())
        until(able)
        done.set()
        thread.join(60)
    assert Owner.waits is nullcontext
