"""A Sweep becomes its Trials."""

from __future__ import annotations

import itertools
from dataclasses import replace

from fxrace.records.sweep import Sweep
from fxrace.records.trial import Trial

REFERENCE_RUNS = 2
REFERENCE_KNOBS = {
    "locking": "none",
    "checkpoint": "off",
    "warmup": "none",
    "attention": "dense",
    "loss": "chunked",
    "execution": "oracle",
    "layers": "plain",
    "queue": "per_drafter",
    "cudagraphs": "off",
    "pressure": "none",
}
# Axes that change which numbers are computed: a trial's reference has the trial's own values.
MEANING = ("labels", "objective", "precision", "schedule", "sync")


def trials(sweep: Sweep) -> tuple[Trial, ...]:
    """Every combination once per repeat. Repeats are outermost, so all cells fill evenly."""
    names = tuple(sweep.axes)
    return tuple(
        Trial(
            target=sweep.target,
            knobs=dict(zip(names, values, strict=True)),
            settings=dict(sweep.settings),
            seed=sweep.seed,
            repeat=repeat,
            limits=sweep.limits,
        )
        for repeat in range(sweep.repeats)
        for values in itertools.product(*sweep.axes.values())
    )


def references(sweep: Sweep) -> tuple[Trial, ...]:
    """The single-threaded, uncompiled runs that trials are compared with, each taken twice.

    Twice, because a reference that differs from itself proves nothing about anybody. One pair
    for every combination of the axes that change what is computed.
    """
    names = [axis for axis in MEANING if axis in sweep.axes]
    return tuple(
        Trial(
            target=sweep.target,
            knobs={**REFERENCE_KNOBS, **dict(zip(names, values, strict=True))},
            settings=dict(sweep.settings),
            seed=sweep.seed,
            repeat=run,
            limits=sweep.limits,
        )
        for values in itertools.product(*(sweep.axes[axis] for axis in names))
        for run in range(REFERENCE_RUNS)
    )


def references_of(trial: Trial) -> tuple[Trial, ...]:
    """The references that this trial of a sweep is compared with."""
    meaning = {axis: trial.knobs[axis] for axis in MEANING if axis in trial.knobs}
    return tuple(
        replace(trial, knobs={**REFERENCE_KNOBS, **meaning}, repeat=run)
        for run in range(REFERENCE_RUNS)
    )


def is_reference(trial: Trial) -> bool:
    """True for trials made by ``references``."""
    return trial.knobs.get("execution") == REFERENCE_KNOBS["execution"]
