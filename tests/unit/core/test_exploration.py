"""What an exploration recorded becomes pairs and findings; silence is never safety."""

from __future__ import annotations

from typing import Any

from fxrace.core.exploration import explored, strongest
from fxrace.records.event import Event, Trace
from fxrace.records.finding import Tier
from fxrace.records.outcome import Ending, Stop

ENDED = Ending(stop=Stop.EXITED, code=0, duration_s=1.0, overhead_s=0.0)
DIED = Ending(stop=Stop.SIGNALLED, code=11, duration_s=1.0, overhead_s=0.0)


def pair(**changes: Any) -> dict[str, Any]:
    return {
        "a": "symbolic_trace", "b": "module_call", "grain": "call", "strategy": "interference",
        "points": 10, "stopped": 10, "schedules": 14, "preemption_bound": 1, "exhausted": True,
        "slips": 0, "blocked": 0, "differences": 4, "verdict": "finding", "reason": "",
        "duration_s": 1.0, **changes,
    }  # fmt: skip


def difference(**changes: Any) -> dict[str, Any]:
    return {
        "a": "symbolic_trace", "b": "module_call", "wrong": "b", "tier": "T0",
        "symptom": "raised NameError", "error": None, "state": "nn.module_call",
        "proof": "healed", "others_off": [],
        "value": {"before": "Module.__call__", "during": "wrapper", "after": ""},
        "point": "torch.fx:Tracer.trace#1", "b_point": "", "count": 4, "shown": {"k": 3, "n": 3},
        "region": "trace", "locks": {"a": ["lock"], "b": []}, "fingerprint": "f1",
        "frames": {
            "a": [["/x/fxrace/probe/explore/interference_run.py", 1, "go"],
                  ["/x/fxrace/probe/operations/symbolic_trace.py", 9, "run"],
                  ["/x/torch/fx/_symbolic_trace.py", 5, "Tracer.trace"]],
            "b": [["/x/torch/nn/modules/module.py", 7, "_call_impl"]],
        },
        **changes,
    }  # fmt: skip


def trace(*events: tuple[str, dict[str, Any]]) -> Trace:
    return Trace(
        events=tuple(
            Event(at_s=float(n), thread="MainThread", ident=1, kind=kind, data=data)
            for n, (kind, data) in enumerate(events)
        )
    )


WANTED = [("symbolic_trace", "module_call"), ("symbolic_trace", "autocast")]


def test_a_difference_is_a_finding_of_its_pair_with_both_sides() -> None:
    found, other = explored(
        trace(
            ("difference", difference()),
            ("difference", difference(wrong="a", symptom="gave a Proxy", tier="T1")),
            ("pair", pair()),
            ("pair", pair(b="autocast", verdict="safe", differences=0)),
        ),
        WANTED,
        ENDED,
    )
    assert (found.data["verdict"], other.data["verdict"]) == ("finding", "safe")
    assert not other.findings
    (finding,) = found.findings
    assert finding.state == "nn.module_call"
    assert len(finding.symptoms) == 2
    a, b = finding.sides
    assert a.locks_held == ("lock",)
    assert [frame.function for frame in a.stack] == ["run", "Tracer.trace"]
    assert b.stack[0].function == "_call_impl"
    assert finding.value.during == "wrapper"
    (shown,) = found.shown.values()
    assert (shown["point"], shown["wrong"]) == ("torch.fx:Tracer.trace#1", "b")
    assert (shown["k"], shown["n"], shown["raised"]) == (3, 3, False)


def test_what_a_dead_process_did_not_come_to_is_inconclusive() -> None:
    found, other = explored(trace(("difference", difference()), ("pair", pair())), WANTED, DIED)
    assert found.findings
    assert other.data["verdict"] == "inconclusive"
    assert "signal 11" in other.data["reason"]
    assert other.data["exhausted"] is False


def test_the_gravest_tier() -> None:
    (found,) = explored(
        trace(("difference", difference(tier="T2", fingerprint="f2")),
              ("difference", difference(tier="T0")), ("pair", pair())),
        WANTED[:1], ENDED,
    )  # fmt: skip
    assert strongest(found.findings) is Tier.FAILURE
    assert strongest(()) is None
