"""From the record of an exploration to rows of pairs and findings.

The trial process says ``difference`` for everything it confirmed and one ``pair`` per pair. The
surprise: a process that died half-way still told about the pairs before; those that it did not
reach are inconclusive, never safe.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fxrace.core.causes import merged
from fxrace.core.frames import frames_of
from fxrace.core.states import by_name
from fxrace.records.event import Trace
from fxrace.records.finding import Finding, Side, Tier, Value
from fxrace.records.outcome import Ending, Stop

INTERFERENCE, SCHEDULE = "interference", "schedule"
_COUNTS = ("points", "stopped", "schedules", "slips", "blocked", "differences")


@dataclass(frozen=True, kw_only=True, slots=True)
class Explored:
    """One pair as it came out. ``data`` is the ``pair`` event; ``tokens`` is fingerprint ->
    the schedule that shows it, with how often it did: ``{"point", "b_point", "k", "n"}``.
    """

    a: str
    b: str
    data: Mapping[str, Any]
    findings: tuple[Finding, ...]
    shown: Mapping[str, Mapping[str, Any]]


def explored(trace: Trace, wanted: Sequence[tuple[str, str]], ending: Ending) -> list[Explored]:
    """One Explored per wanted pair, in their order."""
    told = {(e.data["a"], e.data["b"]): e.data for e in trace.of("pair")}
    differences: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for event in trace.of("difference"):
        differences.setdefault((event.data["a"], event.data["b"]), []).append(event.data)
    return [
        explored_of(pair, told.get(pair) or _lost(pair, trace, ending), differences.get(pair, []))
        for pair in wanted
    ]


def explored_of(
    pair: tuple[str, str], data: Mapping[str, Any], differences: Sequence[Mapping[str, Any]]
) -> Explored:
    """One pair from what was said of it: a ``pair`` and its ``difference``s."""
    shown: dict[str, Mapping[str, Any]] = {}
    for said in differences:
        shown.setdefault(
            said["fingerprint"],
            {
                "point": said["point"],
                "b_point": said["b_point"],
                "token": said.get("token", ""),
                "wrong": said["wrong"],
                "symptom": said["symptom"],
                "raised": said["error"] is not None,
                **said["shown"],
            },
        )
    return Explored(
        a=pair[0],
        b=pair[1],
        data=data,
        findings=merged(finding_of(said) for said in differences),
        shown=shown,
    )


def finding_of(said: Mapping[str, Any]) -> Finding:
    """A ``difference`` event as a Finding."""
    state = by_name(said["state"]) if said["state"] else None
    return Finding(
        fingerprint=said["fingerprint"],
        title=title_of(said),
        tier=Tier(said["tier"]),
        state=said["state"],
        hazard=None,
        sides=(
            Side(
                thread=f"A: {said['a']}",
                region=said["region"],
                access=f"stopped at {said['point']}" if said["point"] else "ran",
                stack=frames_of(said["frames"]["a"]),
                locks_held=tuple(said["locks"]["a"]),
            ),
            Side(
                thread=f"B: {said['b']}",
                region=_b_region(said),
                access=f"stopped at {said['b_point']}" if said["b_point"] else "ran to its end",
                stack=frames_of(said["frames"]["b"]),
                locks_held=tuple(said["locks"]["b"]),
            ),
        ),
        symptoms=(symptom_of(said),),
        pattern=SCHEDULE if said["proof"] == "forced" else INTERFERENCE,
        value=Value(**said["value"]),
        references=state.references if state else (),
    )


def title_of(said: Mapping[str, Any]) -> str:
    """The cause in a sentence: the State and what sharing it breaks, else what was seen."""
    state = by_name(said["state"]) if said["state"] else None
    if state is not None:
        return f"{said['region']} changes {state.attribute} under another thread: {state.why}"
    if said["state"]:
        return f"{said['region']} changes {said['state']} under another thread"
    return f"{said['b']} during another thread's {said['a']}: {said['symptom'][:160]}"


def symptom_of(said: Mapping[str, Any]) -> str:
    """``make_fx stopped, module_call runs: b raised NameError``: who came out wrong, and how."""
    forced = said["proof"] == "forced"
    who = f"{said['a']} and {said['b']}" if forced else f"{said['a']} stopped, {said['b']} runs"
    return f"{who}: {said['wrong']} {said['symptom']}"


def _b_region(said: Mapping[str, Any]) -> str:
    return "" if not said["b_point"] else str(said["region"])


def _lost(pair: tuple[str, str], trace: Trace, ending: Ending) -> Mapping[str, Any]:
    """A pair that the process did not come to, or did not come back from."""
    event = trace.last("raised") or trace.last("broken")
    error = event.data.get("error") if event else None
    how = (
        f"{error['type']}: {error['message']}"
        if error
        else {
            Stop.SIGNALLED: f"the exploring process died of signal {ending.code}",
            Stop.SILENT: "the exploring process showed no sign of life",
            Stop.TIMED_OUT: "the exploring process ran out of time",
            Stop.NOT_STARTED: "the exploring process could not be started",
        }.get(ending.stop, f"the exploring process left with status {ending.code}")
    )
    return {
        "a": pair[0], "b": pair[1], "grain": "", "strategy": "", "preemption_bound": 0,
        "exhausted": False, "verdict": "inconclusive", "reason": how, "duration_s": 0.0,
        **dict.fromkeys(_COUNTS, 0),
    }  # fmt: skip


def strongest(findings: Iterable[Finding]) -> Tier | None:
    """The gravest tier among them."""
    return min((finding.tier for finding in findings), key=lambda tier: tier.value, default=None)
