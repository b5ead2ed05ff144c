"""Reads Chrome trace JSON by the rules of its documentation, and refuses what breaks one.

A reader of our own because Perfetto's trace_processor is a binary that is fetched when it is
first used, which no test may do. Rules: every event has ``ph``, ``pid``, ``tid`` and ``ts``;
``X`` has a duration; slices of one thread nest; an arrow has a start and an end with one id and
category, and both lie in a slice; instants have a scope.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

Event = dict[str, Any]
_LEAST = 0.05


@dataclass(frozen=True, kw_only=True, slots=True)
class Chart:
    """What a viewer would draw. ``threads`` is (pid, tid) -> name."""

    processes: dict[int, str]
    threads: dict[tuple[int, int], str]
    slices: tuple[Event, ...]
    instants: tuple[Event, ...]
    arrows: tuple[tuple[Event, Event], ...]

    def thread(self, event: Event) -> str:
        return self.threads[event["pid"], event["tid"]]


def read(text: str) -> Chart:
    log = json.loads(text)
    events: list[Event] = log["traceEvents"]
    for event in events:
        assert event["ph"] in "XiMsf", event
        assert isinstance(event["pid"], int)
        assert isinstance(event["tid"], int)
        assert event["ts"] >= 0
        assert event["name"]
    slices = [event for event in events if event["ph"] == "X"]
    _nest(slices)
    instants = [event for event in events if event["ph"] == "i"]
    assert {event["s"] for event in instants} <= {"g", "p", "t"}
    chart = Chart(
        processes=_names(events, "process_name"),
        threads={(e["pid"], e["tid"]): e["args"]["name"] for e in _meta(events, "thread_name")},
        slices=tuple(slices),
        instants=tuple(instants),
        arrows=_arrows(events, slices),
    )
    drawn = {(event["pid"], event["tid"]) for event in (*slices, *instants)}
    assert drawn <= chart.threads.keys()
    assert {pid for pid, _ in drawn} <= chart.processes.keys()
    return chart


def _nest(slices: list[Event]) -> None:
    tracks: dict[tuple[int, int], list[Event]] = defaultdict(list)
    for event in slices:
        assert event["dur"] >= 0
        tracks[event["pid"], event["tid"]].append(event)
    for track in tracks.values():
        around: list[float] = []
        for event in sorted(track, key=lambda e: (e["ts"], -e["dur"])):
            while around and around[-1] <= event["ts"] + _LEAST:
                around.pop()
            end = event["ts"] + event["dur"]
            assert not around or end <= around[-1] + _LEAST, event
            around.append(end)


def _arrows(events: list[Event], slices: list[Event]) -> tuple[tuple[Event, Event], ...]:
    starts = {(e["cat"], e["id"]): e for e in events if e["ph"] == "s"}
    ends = {(e["cat"], e["id"]): e for e in events if e["ph"] == "f"}
    assert starts.keys() == ends.keys()
    for event in (*starts.values(), *ends.values()):
        assert any(_holds(one, event) for one in slices), event
    assert all(event["bp"] == "e" for event in ends.values())
    return tuple((starts[key], ends[key]) for key in starts)


def _holds(one: Event, event: Event) -> bool:
    same = (one["pid"], one["tid"]) == (event["pid"], event["tid"])
    return same and one["ts"] <= event["ts"] <= one["ts"] + one["dur"]


def _meta(events: list[Event], name: str) -> list[Event]:
    return [event for event in events if event["ph"] == "M" and event["name"] == name]


def _names(events: list[Event], name: str) -> dict[int, str]:
    return {event["pid"]: event["args"]["name"] for event in _meta(events, name)}
