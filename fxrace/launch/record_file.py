"""Reads what a trial process wrote: ``events.jsonl`` becomes a Trace.

The file may end anywhere (the process may have been killed in mid-write) and may hold anything
(the program under test shares the process). What cannot be read is counted, never guessed at.
"""

from __future__ import annotations

import json
from pathlib import Path

import msgspec

from fxrace.records.event import Event, Trace

EVENTS = "events.jsonl"
_DECODER = msgspec.json.Decoder(Event)


def read_trace(path: Path) -> Trace:
    """The Trace in this file; an empty one when there is no file.

    An unfinished last line is the kill, not a fault, and is not counted as unreadable.
    """
    try:
        content = path.read_bytes()
    except OSError:
        return Trace()
    complete, _, _cut_off = content.rpartition(b"\n")
    events: list[Event] = []
    unreadable = 0
    for line in complete.split(b"\n"):
        if not line:
            continue
        try:
            events.append(_event(line))
        except (msgspec.MsgspecError, ValueError, RecursionError):
            unreadable += 1
    return Trace(events=tuple(events), unreadable=unreadable)


def read_traces(directory: Path) -> tuple[Trace, ...]:
    """The Traces of a program: its own first, then those of the processes it forked."""
    forked = sorted(directory.glob("events-*.jsonl"))
    return tuple(read_trace(path) for path in (directory / EVENTS, *forked))


def _event(line: bytes) -> Event:
    try:
        return _DECODER.decode(line)
    except msgspec.DecodeError:
        # NaN losses and lone surrogates are no JSON to msgspec, yet are what a trial may hold.
        return msgspec.convert(json.loads(line), Event)
