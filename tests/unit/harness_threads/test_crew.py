"""The crew keeps every failure, each once, with what the others were doing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fxrace.probe.pressure.none import NoPressure
from fxrace.probe.recorder import Recorder
from fxrace.probe.regions import Regions, watch_with
from fxrace.records.event import Event
from harness.channel import Stopped
from harness.crew import Crew, Failures, StartLine
from tests.unit.harness_threads.threads import SOON_S, Background, Parked
from tests.unit.harness_threads.trials import read


@pytest.fixture
def record(tmp_path: Path) -> Path:
    return tmp_path / "events.jsonl"


@pytest.fixture
def recorder(record: Path) -> Iterator[Recorder]:
    recorder = Recorder(record)
    yield recorder
    recorder.close()


def raiser(error: BaseException) -> Callable[[], None]:
    def work() -> None:
        raise error

    return work


def raised(record: Path) -> dict[str, Event]:
    return {event.data["role"]: event for event in read(record).of("raised")}


def test_no_error_hides_another(recorder: Recorder, record: Path) -> None:
    crew, told = Crew(failures := Failures(recorder)), []
    errors = {"a": ValueError("1"), "b": KeyError("2"), "c": SystemExit(3)}
    for name, error in errors.items():
        crew.start(name, raiser(error), on_failure=told.append)
    crew.start("fine", lambda: None, on_failure=told.append)
    assert crew.join(SOON_S) == ()
    assert {f.role: f.error for f in failures.all} == errors
    assert {role: e.data["error"]["type"] for role, e in raised(record).items()} == {
        "a": "ValueError", "b": "KeyError", "c": "SystemExit",
    }  # fmt: skip
    assert sorted(map(repr, told)) == sorted(map(repr, errors.values()))


def test_one_error_through_two_threads_is_one_failure(recorder: Recorder, record: Path) -> None:
    crew, same = Crew(failures := Failures(recorder)), RuntimeError("from a target")
    for name in ("target-0", "drafter-0"):
        crew.start(name, raiser(same), on_failure=lambda _: None)
        assert crew.join(SOON_S) == ()
    assert [f.role for f in failures.all] == ["target-0"]
    assert list(raised(record)) == ["target-0"]


def test_being_stopped_is_no_failure(recorder: Recorder) -> None:
    crew, told = Crew(failures := Failures(recorder)), []
    crew.start("drafter-0", raiser(Stopped()), on_failure=told.append)
    assert crew.join(SOON_S) == ()
    assert not failures.all and not told


def test_causes_and_frames_are_kept(recorder: Recorder, record: Path) -> None:
    def work() -> None:
        try:
            raise KeyError("root")
        except KeyError as error:
            raise ValueError("outer") from error

    crew = Crew(Failures(recorder))
    crew.start("a", work, on_failure=lambda _: None)
    crew.join(SOON_S)
    error = raised(record)["a"].data["error"]
    assert error["frames"][-1][2] == "work"
    assert [(c["type"], c["frames"][-1][2]) for c in error["causes"]] == [("KeyError", "work")]


def test_a_failure_shows_who_stood_in_a_trace(recorder: Recorder, record: Path) -> None:
    regions, parked = Regions(recorder, NoPressure()), Parked()
    watch_with(regions)
    crew = Crew(Failures(recorder))

    def traces() -> None:
        with regions.region("trace", "f"):
            parked()

    try:
        crew.start("drafter-0", traces, on_failure=lambda _: None)
        assert parked.inside.wait(SOON_S)
        crew.start(
            "drafter-1", raiser(RuntimeError("met it")), on_failure=lambda _: parked.go.set()
        )
        assert crew.join(SOON_S) == ()
    finally:
        watch_with(None)
    (other,) = raised(record)["drafter-1"].data["others"]
    assert (other["thread"], other["region"]) == ("drafter-0", "trace")
    functions = [function.rpartition(".")[2] for _, _, function in other["frames"]]
    assert {"traces", "__call__"} <= set(functions)


def test_join_is_bounded_and_names_who_is_late(recorder: Recorder) -> None:
    crew, parked = Crew(Failures(recorder)), Parked()
    crew.start("late", parked, on_failure=lambda _: None)  # type: ignore[arg-type]
    assert crew.join(0.01) == ("late",)
    parked.go.set()
    assert crew.join(SOON_S) == ()


def test_the_start_line_opens_for_all_at_once() -> None:
    line = StartLine(2)
    assert not line.await_all(0.01)
    assert not line.await_open(0.01)
    runner = Background(lambda: line.await_open(SOON_S))
    line.arrive()
    line.arrive()
    assert line.await_all(SOON_S)
    assert runner.stuck
    line.open()
    assert runner.result() is True
