"""Runs the experiments of claims under one interpreter, each arm in a process of its own.

Nothing here is timed, so trials may share a GPU, and several run side by side there as well.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fxrace.commands import _place
from fxrace.core import claims as rules
from fxrace.launch import bundled
from fxrace.launch.folder import prune
from fxrace.launch.progress import Ended
from fxrace.launch.record_file import EVENTS, read_trace
from fxrace.launch.stopping import Stopping
from fxrace.probe.claims import ARMS, Claim, Experiment, Measure
from fxrace.records.claims import Answer, ClaimRow, ExperimentRow, Values
from fxrace.records.environment import Environment
from fxrace.records.trial import Limits, Trial

TARGET = "fxrace.probe.claims.run:run"
#: An arm waits in silence for as long as its own bounds allow, which are shorter.
LIMITS = Limits(trial_s=240.0, silence_s=120.0, busy_s=240.0)
MOST_JOBS = 4
NOT_RUN = "it was not run"

#: By the function that measured: a control that several experiments share is run once.
Readings = Mapping[Measure, Values | str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """What one interpreter answered."""

    environment: Environment
    rows: tuple[ClaimRow, ...]


def asked(
    claims: Sequence[Claim], *, python: str, device: str, directory: Path, jobs: int | None,
    stopping: Stopping, told: Callable[[str], None],
) -> Asked:  # fmt: skip
    """Run every experiment of these claims under ``python``. Raises what ``_place.opened`` does."""
    with _place.opened(
        python=python,
        directory=directory,
        jobs=jobs or min(MOST_JOBS, os.cpu_count() or 1),
        roots=(bundled.root(),),
        device=device,
    ) as place:
        here = place.environment
        planned = _planned(claims, place.device)
        told(f"torch {here.torch} on {place.device}: {len(planned)} measurements")
        readings = dict(_measured(planned, place, stopping))
    return Asked(
        environment=here,
        rows=tuple(_row(claim, readings, here, place.device) for claim in claims),
    )


def _planned(claims: Sequence[Claim], device: str) -> dict[Measure, Trial]:
    planned: dict[Measure, Trial] = {}
    for claim in claims:
        for one in claim.experiments:
            for arm in ARMS:
                knobs = {"claim": claim.id, "experiment": one.id, "arm": arm}
                trial = Trial(
                    target=TARGET, knobs=knobs, settings={"device": device}, limits=LIMITS
                )
                planned.setdefault(one.arm(arm), trial)
    return planned


def _measured(
    planned: Mapping[Measure, Trial], place: _place.Place, stopping: Stopping
) -> Iterator[tuple[Measure, Values | str]]:
    """As they end. The record of an arm that measured something is not kept."""
    measures = {trial.digest: measure for measure, trial in planned.items()}
    for moment in place.executor.run(tuple(planned.values()), stopping=stopping):
        if isinstance(moment, Ended):
            reading = rules.reading(read_trace(moment.directory / EVENTS), moment.ending)
            if not isinstance(reading, str):
                prune(moment.directory)
            yield measures[moment.trial.digest], reading


def _row(claim: Claim, readings: Readings, here: Environment, device: str) -> ClaimRow:
    rows = tuple(_experiment(one, readings) for one in claim.experiments)
    ruling = rules.claim(rows, claim.depends_on)
    return ClaimRow(
        id=claim.id,
        statement=claim.statement,
        verdict=ruling.answer,
        reason=ruling.reason,
        depends_on=claim.depends_on if ruling.answer is Answer.DEPENDS else None,
        experiments=rows,
        torch=here.torch,
        python=here.executable,
        device=device,
    )


def _experiment(one: Experiment, readings: Readings) -> ExperimentRow:
    controls = {Answer.TRUE: one.control_true, Answer.FALSE: one.control_false}
    return rules.experiment(
        id=one.id,
        when=one.when,
        rule=one.rule,
        measured=readings.get(one.measured, NOT_RUN),
        controls={says: readings.get(of, NOT_RUN) for says, of in controls.items()},
    )
