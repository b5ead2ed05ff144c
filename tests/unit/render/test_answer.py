"""The answer counts configurations, not cells, and never claims what did not run."""

from __future__ import annotations

from collections.abc import Mapping

from fxrace.records.verdict import Verdict
from fxrace.render.view import answer, grid
from tests.unit.render.documents import AXES, document, sweep, trial

Plan = Mapping[tuple[str, str], tuple[Verdict, ...]]
ONE = {axis: values[:1] for axis, values in AXES.items()}
C, R = Verdict.CLEAN, Verdict.RAISED


def judged(plan: Plan, **changes: object) -> answer.Answer:
    """(locking, pressure) -> verdicts of its repeats."""
    base = {axis: values[0] for axis, values in ONE.items()}
    rows = [
        trial({**base, "locking": locking, "pressure": pressure}, n * 10 + repeat, verdict)
        for n, ((locking, pressure), verdicts) in enumerate(plan.items())
        for repeat, verdict in enumerate(verdicts)
    ]
    axes = {
        **ONE,
        "locking": tuple(dict.fromkeys(k for k, _ in plan)),
        "pressure": tuple(dict.fromkeys(p for _, p in plan)),
    }
    return answer.conclude(document(rows, axes=axes, **changes))


def test_a_configuration_must_survive_every_pressure() -> None:
    told = judged({("none", "none"): (C, C), ("none", "hold"): (C, R), ("step", "none"): (C,),
                   ("step", "hold"): (C,)})  # fmt: skip
    assert told.headline.startswith("1 of 2 configurations survived every trial: locking=step")
    assert "2 of 2 trials" in told.detail


def test_none_survived_names_the_mildest() -> None:
    told = judged({("a", "none"): (R, R), ("b", "none"): (R, C)})
    assert told.headline.startswith("None of 2")
    assert "locking=b" in told.headline
    assert "1 of 2 trials" in told.headline


def test_speed_is_read_where_nothing_presses() -> None:
    document_ = sweep(repeats=1)
    for found in answer.configurations(document_):
        calm = [
            c.throughput
            for c in document_.cells
            if c.throughput
            and c.knobs["pressure"] == "none"
            and grid.key({k: v for k, v in c.knobs.items() if k != "pressure"})
            == grid.key(found.knobs)
        ]
        if calm:
            assert found.throughput == calm[0]


def test_inconclusive_trials_are_no_survivors() -> None:
    told = judged({("a", "none"): (Verdict.BLIND,), ("b", "none"): (C,)})
    assert told.headline.startswith("The one configuration survived")
    assert "1 configuration could not be judged" in told.detail
    nothing = judged({("a", "none"): (Verdict.BLIND, Verdict.SKIPPED)})
    assert "No trial was conclusive (1 BLIND, 1 SKIPPED)" in nothing.headline


def test_zero_trials() -> None:
    assert answer.conclude(document([])).headline == "No trial has run, so nothing can be said."


def test_an_interrupted_sweep_says_so() -> None:
    assert "interrupted" in judged({("a", "none"): (C,)}, interrupted=True).detail
    assert "interrupted" not in judged({("a", "none"): (C,)}).detail


def test_choices_add_up() -> None:
    found = answer.choices(sweep())
    assert {c.axis for c in found} == {
        "locking", "checkpoint", "warmup", "attention", "pressure"
    }  # fmt: skip
    for axis in ("locking", "pressure"):
        assert sum(sum(c.verdicts.values()) for c in found if c.axis == axis) == 324
    whole = next(c for c in found if c.value == "whole_step")
    assert (whole.failures.k, whole.survived, whole.judged) == (0, 18, 18)


def test_references_are_no_cells() -> None:
    document_ = sweep(repeats=1)
    assert len(document_.trials) == 110
    assert sum(len(s.cells) for s in grid.sections(document_)) == 108
    titles = [section.title for section in grid.sections(document_)]
    assert titles[0] == "attention flex_aot_eager, pressure hold"
    assert len(titles) == 4


def test_a_new_axis_opens_sections() -> None:
    axes = {**ONE, "locking": ("a",), "sync": ("x", "y")}
    base = {axis: values[0] for axis, values in axes.items()}
    rows = [trial({**base, "sync": s}, n, C) for n, s in enumerate(("x", "y"))]
    titles = [section.title for section in grid.sections(document(rows, axes=axes))]
    assert titles == [
        "attention flex_aot_eager, pressure hold, sync x",
        "attention flex_aot_eager, pressure hold, sync y",
    ]
