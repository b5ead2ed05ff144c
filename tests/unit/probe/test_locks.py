"""What a NamedLock says about who held it after whom."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from fxrace.core.clocks import clocks_of
from fxrace.launch.record_file import read_trace
from fxrace.probe.locks import NamedLock
from fxrace.probe.recorder import Recorder
from fxrace.records.event import Trace


def run(work: Callable[[], None], name: str) -> None:
    thread = threading.Thread(target=work, name=name)
    thread.start()
    thread.join(10)
    assert not thread.is_alive()


def recorded(path: Path) -> Trace:
    """Two threads that take one lock one after the other, never waiting for each other."""
    recorder = Recorder(path)
    lock = NamedLock("mine", recorder)

    def work(number: int) -> None:
        with lock.held(number), lock.held(number):
            recorder.emit("note", text="inside")

    run(lambda: work(0), "a")
    run(lambda: work(1), "b")
    recorder.close()
    return read_trace(path)


def test_holds_that_never_waited_are_ordered(tmp_path: Path) -> None:
    trace = recorded(tmp_path / "events")
    assert [e.data.get("edge") for e in trace.events] == [
        "acquire", None, "release", "acquire", None, "release",
    ]  # fmt: skip
    assert {e.data["key"] for e in trace.of("sync")} == {"lock:mine"}
    assert clocks_of(trace).before(1, 4)


def test_a_second_thread_of_the_same_key_is_told_by_itself(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "events")
    lock = NamedLock("mine", recorder)

    def helper() -> None:
        with lock.held("drafter"):
            recorder.emit("note", text="inside")

    with lock.held("drafter"):
        run(helper, "device")
    recorder.close()
    told = [(e.thread, e.data.get("edge")) for e in read_trace(tmp_path / "events").of("sync")]
    assert told == [
        ("MainThread", "acquire"), ("device", "acquire"), ("device", "release"),
        ("MainThread", "release"),
    ]  # fmt: skip


def test_a_lock_without_a_recorder_is_a_lock() -> None:
    lock = NamedLock("mine")
    with lock.held(), lock.held():
        pass
    lock.acquire("other")
    lock.release()
