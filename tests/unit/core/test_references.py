"""A trial is compared with a reference that computes the same thing."""

from __future__ import annotations

import math

from fxrace.core import expand
from fxrace.core.curve import Point, departures, tolerances_of
from fxrace.core.references import References
from fxrace.records.event import Event, Trace
from fxrace.records.sweep import Sweep

AXES = {
    "locking": ("none", "whole_step"),
    "execution": ("threads",),
    "sync": ("none", "mean"),
    "precision": ("native",),
}
SWEEP = Sweep(target="a:b", axes=AXES, settings={"preset": "tiny"}, seed=3)


def curve(loss: float) -> dict[tuple[int, int], Point]:
    return {(0, 0): Point(loss=loss, grad_norm=1.0)}


def test_there_is_a_pair_for_every_meaning_and_each_trial_finds_its_own() -> None:
    references = expand.references(SWEEP)
    assert [(r.knobs["sync"], r.repeat) for r in references] == [
        ("none", 0), ("none", 1), ("mean", 0), ("mean", 1),
    ]  # fmt: skip
    assert all(expand.is_reference(one) for one in references)
    digests = {one.digest for one in references}
    for trial in expand.trials(SWEEP):
        own = expand.references_of(trial)
        assert {one.digest for one in own} <= digests
        assert {one.knobs["sync"] for one in own} == {trial.knobs["sync"]}


def test_a_sweep_without_such_axes_has_one_pair() -> None:
    plain = Sweep(target="a:b", axes={"locking": ("none",)}, settings={})
    assert [one.knobs for one in expand.references(plain)] == [expand.REFERENCE_KNOBS] * 2


def test_a_reference_that_is_missing_is_the_problem_of_its_own_trials_only() -> None:
    curves = {
        one.digest: curve(1.0) for one in expand.references(SWEEP) if one.knobs["sync"] == "none"
    }
    references = References(curves)
    for trial in expand.trials(SWEEP):
        assert (references(trial).problem is None) is (trial.knobs["sync"] == "none")
    assert len(references.problems(expand.trials(SWEEP))) == 1
    assert references.problems([expand.trials(SWEEP)[0]]) == ()


def test_a_run_says_how_far_its_formats_let_it_differ() -> None:
    def trace(*events: Event) -> Trace:
        return Trace(events=events)

    said = Event(
        at_s=0.0, thread="t", ident=1, kind="tolerance", data={"loss": 0.02, "grad_norm": 0.1}
    )
    off = curve(1.01)
    assert departures(off, curve(1.0), tolerances_of(trace()))
    assert not departures(off, curve(1.0), tolerances_of(trace(said)))
    assert departures(curve(1.05), curve(1.0), tolerances_of(trace(said)))


def test_tolerance_grows_with_steps_as_sound_runs_drift_apart() -> None:
    def at(step: int, loss: float) -> dict[tuple[int, int], Point]:
        return {(0, step): Point(loss=loss, grad_norm=1.0)}

    # 0.4 % after 105 steps is what an H200 showed of two sound runs in bf16.
    for step, loss, told in ((0, 1.003, True), (105, 1.004, False), (105, 1.005, True)):
        assert bool(departures(at(step, loss), at(step, 1.0))) is told
    assert departures(at(400, math.nan), at(400, 1.0))
    assert departures(at(400, 2.0), at(400, 1.0))
    # It ends: at any step a run is looked at, and ten times 0.2 % is told.
    assert departures(at(10**6, 1.02), at(10**6, 1.0))
    assert not departures(at(10**6, 1.01), at(10**6, 1.0))
