"""What is said about a program that has no reference, and how it is told to the shell."""

from __future__ import annotations

from typing import Any

import pytest

from fxrace.commands.run import exit_status
from fxrace.core import program
from fxrace.core.program import Ran, conclude, document_of
from fxrace.records.document import RunDocument
from fxrace.records.event import Event, Trace
from fxrace.records.finding import Tier
from fxrace.records.outcome import Ending, Stop

USER = ["/home/me/serve.py", 12, "serve"]
WRAPPER = ["/lib/torch/_dynamo/eval_frame.py", 1120, "compile_wrapper"]
TRACING = {"thread": "loader", "region": "trace", "frames": [USER]}
COMPILING = {"thread": "loader", "region": "compile", "frames": [USER]}


def event(kind: str, ident: int = 1, **data: Any) -> Event:
    return Event(at_s=0.0, thread=f"t{ident}", ident=ident, kind=kind, data=data)


def error(*frames: list[Any]) -> dict[str, Any]:
    return {"type": "RuntimeError", "message": "m", "frames": list(frames), "causes": []}


def raised(*frames: list[Any], others: tuple[Any, ...] = ()) -> Event:
    return event("raised", role="worker", error=error(*frames), others=list(others))


def ended(stop: Stop = Stop.EXITED, code: int = 0) -> Ending:
    return Ending(stop=stop, code=code, duration_s=1.0, overhead_s=0.0)


def document(*events: Event, ending: Ending | None = None) -> RunDocument:
    ran = Ran(ending=ending or ended(), traces=(Trace(events=events),))
    return document_of(
        [ran], schema=("fxrace.run", 1), command=("p.py",), record="r", pressure="none"
    )


@pytest.mark.parametrize(
    ("given", "tiers"),
    [
        (raised(USER, WRAPPER, others=(TRACING,)), [Tier.FAILURE]),
        (raised(USER, WRAPPER, others=(COMPILING,)), [Tier.NEAR_MISS]),
        (raised(USER, others=(TRACING,)), [Tier.NEAR_MISS]),
        (raised(USER, WRAPPER), []),
        (raised(USER), []),
    ],
)
def test_an_error_is_sure_only_over_a_state_another_thread_held(
    given: Event, tiers: list[Tier]
) -> None:
    assert [finding.tier for finding in conclude(Trace(events=(given,)))] == tiers


def test_a_caught_error_and_the_meeting_that_led_to_it_are_one_finding() -> None:
    met = event("met", state="fx.tracing_flag", frames=[USER, WRAPPER], others=[TRACING])
    (finding,) = conclude(Trace(events=(met, raised(USER, WRAPPER))))
    assert finding.tier is Tier.FAILURE
    assert [bool(side.stack) for side in finding.sides] == [True, True]


@pytest.mark.parametrize(
    ("ending", "status", "found"),
    [
        (ended(Stop.SIGNALLED, 11), 139, ["crash"]),
        (ended(Stop.SIGNALLED, 15), 143, []),
        (ended(code=3), 3, []),
        (ended(Stop.TIMED_OUT), 0, []),
    ],
)
def test_only_a_fatal_signal_is_a_crash(ending: Ending, status: int, found: list[str]) -> None:
    said = document(ending=ending)
    assert said.exit_status == status
    assert [finding.pattern for finding in said.findings] == found


def test_66_stands_for_sure_findings_in_a_program_that_passes() -> None:
    sure = raised(USER, WRAPPER, others=(TRACING,))
    near = raised(USER, others=(TRACING,))
    assert exit_status(document(sure), strict=False) == 66
    assert exit_status(document(sure, ending=ended(code=2)), strict=False) == 2
    assert exit_status(document(near), strict=False) == 0
    assert exit_status(document(near), strict=True) == 66
    assert exit_status(document(), strict=True) == 0
    assert exit_status(document(ending=ended(Stop.TIMED_OUT)), strict=False) == 124


def test_regions_and_overlaps_are_counted() -> None:
    def region(edge: str, ident: int) -> Event:
        return event("region", ident, edge=edge, region="trace", name="m", number=ident)

    apart = [region("enter", 1), region("exit", 1), region("enter", 2), region("exit", 2)]
    across = [region("enter", 1), region("enter", 2), region("exit", 1), region("exit", 2)]
    assert program.count([Trace(events=tuple(apart))]).overlaps == 0
    counted = program.count([Trace(events=tuple(across))])
    assert (counted.regions, counted.overlaps) == ({"trace": 2}, 1)
