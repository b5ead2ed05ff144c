"""A Sweep becomes its Trials."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace

from fxrace.records.sweep import Sweep
from fxrace.records.trial import Setting, Trial

REFERENCE_RUNS = 2
#: What a reference runs with, but for the axes of ``OWN``.
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
MEANING = ("labels", "objective", "precision", "schedule", "sync")
KERNELS = ("attention", "layers", "loss")
OWN = (*MEANING, *KERNELS)
"""Axes of which a reference has its trial's own values: those that change which numbers are
computed, and those that change by which kernels, so how they are rounded: by the same ones two runs
in bf16 stay within 0.6 % of the loss for 500 steps (H200, preset small). What such a kernel gets
wrong by itself the reference gets wrong too, so it is compared with plain PyTorch (``plain``).
"""
REFERENCE_SETTINGS = {"freeze": False}
"""It has no warm-up, so it compiles whenever it needs to."""


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
    """The single-threaded runs that trials are compared with, each taken twice.

    Twice, because a reference that differs from itself proves nothing about anybody. One pair
    for every combination of the axes that change what is computed or how.
    """
    names = [axis for axis in OWN if axis in sweep.axes]
    return tuple(
        Trial(
            target=sweep.target,
            knobs={**REFERENCE_KNOBS, **dict(zip(names, values, strict=True))},
            settings=_settings(sweep.settings),
            seed=sweep.seed,
            repeat=run,
            limits=sweep.limits,
        )
        for values in itertools.product(*(sweep.axes[axis] for axis in names))
        for run in range(REFERENCE_RUNS)
    )


def references_of(trial: Trial) -> tuple[Trial, ...]:
    """The references that this trial of a sweep is compared with."""
    own = {axis: trial.knobs[axis] for axis in OWN if axis in trial.knobs}
    settings = _settings(trial.settings)
    return tuple(
        replace(trial, knobs={**REFERENCE_KNOBS, **own}, settings=settings, repeat=run)
        for run in range(REFERENCE_RUNS)
    )


def _settings(of: Mapping[str, Setting]) -> dict[str, Setting]:
    return {name: REFERENCE_SETTINGS.get(name, value) for name, value in of.items()}


def is_reference(trial: Trial) -> bool:
    """True for trials made by ``references``."""
    return trial.knobs.get("execution") == REFERENCE_KNOBS["execution"]
