"""A trial is compared with a reference that computes the same thing."""

from __future__ import annotations

import math
from dataclasses import replace

from fxrace.core import expand
from fxrace.core.curve import (
    Curve,
    Point,
    curve_of,
    departures,
    from_plain,
    reference_from,
    to_plain,
)
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


def curve(loss: float, **tolerances: tuple[float, float]) -> Curve:
    return Curve(points={(0, 0): Point(loss=loss, grad_norm=1.0)}, **tolerances)


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


def test_rounding_is_the_trials_own() -> None:
    """By other kernels the same is rounded otherwise, and training makes much of little."""
    axes = {**AXES, "sync": ("none",), "attention": ("dense", "flex"), "loss": ("fused",)}
    sweep = replace(SWEEP, axes=axes, settings={"preset": "tiny", "freeze": True})
    references = expand.references(sweep)
    assert [(r.knobs["attention"], r.knobs["loss"]) for r in references] == [
        ("dense", "fused"), ("dense", "fused"), ("flex", "fused"), ("flex", "fused"),
    ]  # fmt: skip
    assert {one.settings["freeze"] for one in references} == {False}
    for trial in expand.trials(sweep):
        own = expand.references_of(trial)
        assert {one.digest for one in own} <= {one.digest for one in references}
        assert {one.knobs["attention"] for one in own} == {trial.knobs["attention"]}


def test_a_run_says_how_far_its_formats_let_it_differ() -> None:
    step = Event(
        at_s=0.0, thread="t", ident=1, kind="step",
        data={"drafter": 0, "step": 0, "loss": 1.01, "grad_norm": 1.0},
    )  # fmt: skip
    said = replace(step, kind="tolerance", data={"loss": 0.02, "grad_norm": 0.1})
    assert departures(curve_of(Trace(events=(step,))), curve(1.0))
    coarse = curve_of(Trace(events=(step, said)))
    assert not departures(coarse, curve(1.0))
    assert departures(coarse, curve(0.98))
    assert from_plain(to_plain(coarse)) == coarse


def test_a_reference_may_differ_from_itself_as_its_formats_let_it() -> None:
    coarse = (0.02, 0.1)
    assert reference_from(curve(1.0), curve(1.01)).problem
    alike = curve(1.0, tolerances=coarse), curve(1.01, tolerances=coarse)
    assert reference_from(*alike).problem is None
    assert reference_from(curve(1.0, tolerances=coarse), curve(1.03, tolerances=coarse)).problem


def test_what_is_no_number_is_told_whatever_the_tolerance() -> None:
    for value in (math.nan, math.inf):
        assert departures(curve(value, tolerances=(9.0, 9.0)), curve(1.0))


def test_a_reference_that_is_wrong_by_itself_serves_nobody() -> None:
    """By the same kernels it would agree with every trial, and with itself."""
    step = Event(
        at_s=0.0, thread="t", ident=1, kind="step",
        data={"drafter": 0, "step": 0, "loss": 1.0, "grad_norm": 1.0},
    )  # fmt: skip
    said = {"distance": 0.41, "where": "layers.0.w", "context": 64, "allowed": 0.25}
    wrong = curve_of(Trace(events=(step, replace(step, kind="plain", data=said))))
    assert from_plain(to_plain(wrong)) == wrong
    assert wrong.unlike is not None
    assert wrong.unlike in str(reference_from(wrong, wrong).problem)
    rounded = replace(step, kind="plain", data={**said, "distance": 0.02})
    sound = curve_of(Trace(events=(step, rounded)))
    assert reference_from(sound, sound).problem is None
