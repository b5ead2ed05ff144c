"""T0: a thread raised, where the single-threaded reference does not.

The State is named by where the root cause was raised. The other side is the thread that had a
region open at that moment: the one that borrowed the State. CUDA itself says when a stream was
being captured, to the thread that captured and to those in its way: they are one finding's sides.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from fxrace.core.detect import Detector
from fxrace.core.evidence import Evidence
from fxrace.core.fingerprint import fingerprint, site
from fxrace.core.frames import frames_of
from fxrace.core.states import surfaced_at
from fxrace.records.event import Event, Trace
from fxrace.records.finding import Finding, Frame, Side, Tier, Value
from fxrace.records.state import State

_CALL, _HOLDS = "call", "holds "
_CAPTURE, _CAPTURING = "cudagraph", re.compile(r"CUDA error: .*captur")
_REGIONS = {
    "torch/fx/_symbolic_trace.py:trace": "trace",
    "torch/_dynamo/convert_frame.py:_compile": "compile",
}


def find(evidence: Evidence) -> tuple[Finding, ...]:
    """One finding per ``raised`` event, but one for all that met a capture, and one per error that
    left a region and names a State another thread held, for such errors the program may catch.
    Equal causes are merged later.
    """
    raised = [_finding(event) for event in evidence.trace.of("raised")]
    spoiled = [finding for finding in raised if finding.sides[0].region == _CAPTURE]
    others = [finding for finding in raised if finding.sides[0].region != _CAPTURE]
    return (*others, *_captures(spoiled), *_caught(evidence.trace))


def _captures(spoiled: list[Finding]) -> Iterator[Finding]:
    """What threads met that were in each other's way while one captured a CUDA graph."""
    if spoiled:
        yield replace(
            spoiled[0],
            fingerprint=fingerprint(
                Tier.FAILURE, state=None, regions=(_CAPTURE,), key=("stream capture",)
            ),
            title=f"a CUDA graph capture was spoiled: {spoiled[0].symptoms[0]}",
            sides=tuple(f.sides[0] for f in spoiled) if spoiled[1:] else spoiled[0].sides,
            symptoms=tuple(symptom for finding in spoiled for symptom in finding.symptoms),
        )


def _caught(trace: Trace) -> Iterator[Finding]:
    for event in trace.of("region"):
        if "error" in event.data:
            found = _finding(replace(event, data={"role": event.thread, **event.data}))
            if found.state is not None and any(s.access.startswith(_HOLDS) for s in found.sides):
                yield found


def _finding(event: Event) -> Finding:
    error: Mapping[str, Any] = event.data["error"]
    links = [error, *error.get("causes", ())]
    root = links[-1]
    capturing = _CAPTURING.match(_first_line(root)) is not None
    state, deepest = (None, ()) if capturing else _state_of(links)
    stack = _whole_stack(links)
    region = _CAPTURE if capturing else _region_of(deepest or stack)
    victim = Side(
        thread=event.data["role"],
        region=region,
        access=_access(state, root),
        stack=stack,
    )
    other = _other(event, state)
    return Finding(
        fingerprint=fingerprint(
            Tier.FAILURE,
            state=state.name if state else None,
            regions=(region, state.borrowed_by) if state else (region,),
            key=() if state else (root["type"], *site(deepest or stack)),
        ),
        title=_title(event, root, state, other.region if other else ""),
        tier=Tier.FAILURE,
        state=state.name if state else None,
        hazard=None,
        sides=(victim, other) if other else (victim,),
        symptoms=(_symptom(root),),
        value=_value(state),
        references=state.references if state else (),
    )


def _state_of(links: list[Mapping[str, Any]]) -> tuple[State | None, tuple[Frame, ...]]:
    """The State that the innermost attributable error surfaced at, and the root's frames."""
    frames: tuple[Frame, ...] = ()
    for link in reversed(links):
        frames = frames_of(link["frames"])
        if frames and (state := surfaced_at(frames[-1].file, frames[-1].function)):
            return state, frames
    return None, frames_of(links[-1]["frames"])


def _whole_stack(links: list[Mapping[str, Any]]) -> tuple[Frame, ...]:
    """From the thread's start to the root cause, over every point where an error was wrapped.

    The traceback of a wrapped error begins where it was caught; the outer error's traceback
    leads there.
    """
    whole: tuple[Frame, ...] = ()
    for link in links:
        frames = frames_of(link["frames"])
        start = (frames[0].file, frames[0].function) if frames else ("", "")
        caught = [i for i, frame in enumerate(whole) if (frame.file, frame.function) == start]
        whole = (*whole[: caught[-1]], *frames) if caught else (*whole, *frames)
    return whole


def _region_of(frames: tuple[Frame, ...]) -> str:
    """The innermost region the victim itself was in; a plain (compiled) call else."""
    for frame in reversed(frames):
        place = f"{frame.file}:{frame.function.rsplit('.', 1)[-1]}"
        for surface, region in _REGIONS.items():
            if place.endswith(surface):
                return region
    return _CALL


def _other(event: Event, state: State | None) -> Side | None:
    """The thread with an open region, the State's own kind of region first."""
    candidates = sorted(
        event.data.get("others", ()),
        key=lambda other: 0 if state and other["region"] == state.borrowed_by else 1,
    )
    if not candidates:
        return None
    chosen = candidates[0]
    holds = state is not None and chosen["region"] == state.borrowed_by
    return Side(
        thread=chosen["thread"],
        region=chosen["region"],
        access=f"{_HOLDS}{state.name}" if state and holds else "was inside",
        stack=frames_of(chosen["frames"]),
    )


def _access(state: State | None, root: Mapping[str, Any]) -> str:
    return f"meets {state.name}" if state else f"raises {root['type']}"


def _title(event: Event, root: Mapping[str, Any], state: State | None, other_region: str) -> str:
    during = f" during another thread's {other_region}" if other_region else ""
    who = f"{_kind(event.data['role'])} raised{during}"
    if state is None:
        return f"{who}: {root['type']}: {_first_line(root)}"
    return f"{who}, over {state.name}: {state.why}"


def _kind(role: str) -> str:
    return role.rstrip("0123456789").rstrip("-") or role


def _first_line(root: Mapping[str, Any]) -> str:
    return str(root["message"]).partition("\n")[0][:160]


def _symptom(root: Mapping[str, Any]) -> str:
    return f"{root['type']}: {_first_line(root)}"


def _value(state: State | None) -> Value:
    return Value(during=f"borrowed by a {state.borrowed_by}") if state else Value()


detector = Detector(find=find)
