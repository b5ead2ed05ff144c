"""Who was inside what, told to the thread that crashes."""

from __future__ import annotations

import threading
from pathlib import Path

from fxrace.probe.pressure.none import NoPressure
from fxrace.probe.regions import Regions
from tests.unit.probe.recording import BOUND_S, Recording, Side


def test_an_overlap_is_remembered_on_both_sides_after_both_have_left(tmp_path: Path) -> None:
    regions = Regions(Recording(tmp_path).recorder, NoPressure())
    inside, leave = threading.Event(), threading.Event()

    def first() -> list[dict[str, object]]:
        with regions.region("trace", "a"):
            inside.set()
            assert leave.wait(BOUND_S)
        return regions.others()

    side = Side(first, name="first")
    assert inside.wait(BOUND_S)
    with regions.region("compile", "b"):
        leave.set()
        seen_by_first = side.result()
    mine = regions.others()
    assert [(one["thread"], one["region"]) for one in mine] == [("first", "trace")]
    assert any(frame[2].endswith("first") for frame in mine[0]["frames"])
    here = threading.current_thread().name
    assert [(one["thread"], one["region"]) for one in seen_by_first] == [(here, "compile")]


def test_regions_that_do_not_overlap_know_nothing_of_each_other(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    regions = Regions(recording.recorder, NoPressure())

    def alone() -> list[dict[str, object]]:
        with regions.region("trace", "a"):
            return regions.others()

    assert alone() == Side(alone).result() == alone() == []
    assert [e.data["edge"] for e in recording.of("region")] == ["enter", "exit"] * 3


def test_an_old_overlap_is_forgotten_when_the_thread_enters_anew(tmp_path: Path) -> None:
    regions = Regions(Recording(tmp_path).recorder, NoPressure())
    inside, leave = threading.Event(), threading.Event()

    def first() -> None:
        with regions.region("trace", "a"):
            inside.set()
            assert leave.wait(BOUND_S)

    side = Side(first)
    assert inside.wait(BOUND_S)
    with regions.region("trace", "b"):
        leave.set()
        side.result()
    assert regions.others()
    with regions.region("trace", "c"):
        assert regions.others() == []
