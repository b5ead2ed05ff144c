"""Where the time of the fastest configurations goes: a line per drafter, and what it comes to.

Told of one trial per configuration, the one whose speed is the median of those that the speed of
the configuration is read from: shares of several trials do not add up to anything that ran.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from fxrace.core.bottleneck import MOST, Bottleneck, Cause, bottleneck
from fxrace.records.document import SweepDocument, TrialRow
from fxrace.records.outcome import DrafterSpeed, Throughput
from fxrace.render.view import grid, words
from fxrace.render.view.answer import CALM, CONDITION, configurations, named

CONFIGURATIONS = 8
DRAFTERS = 16
ONE = "the one configuration"


class Wait(str, Enum):
    """What a drafter spends most of its time waiting for; NONE: for nothing."""

    NONE = "none"
    FEATURES = "features"
    LOCKS = "locks"


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """One drafter. ``gil`` is the share of looks at which its thread held the interpreter lock."""

    label: str
    digest: str
    speed: DrafterSpeed
    gil: float | None
    most: Wait


@dataclass(frozen=True, kw_only=True, slots=True)
class Pace:
    """``told`` is the conclusion, or why there is none. ``gil`` when any line has that figure.
    ``more`` counts configurations, ``left_out`` drafters, that are in the JSON document only.
    """

    lines: tuple[Line, ...]
    told: str
    gil: bool
    more: int
    left_out: int


def pace(document: SweepDocument) -> Pace:
    """The fastest configurations that survived, fastest first."""
    found = _median_trials(document)
    names = grid.varied(document.axes, [row.knobs for row in grid.configurations(document)])
    shown = found[:CONFIGURATIONS]
    lines = tuple(line for trial, speed in shown for line in _lines(trial, speed, names))
    told = _fastest(found) or _unknown(document)
    return Pace(
        lines=lines,
        told=" ".join(filter(None, (told, _others(shown[1:])))),
        gil=any(line.gil is not None for line in lines),
        more=len(found) - len(shown),
        left_out=sum(len(speed.drafters) for _, speed in shown) - len(lines),
    )


def conclusion(document: SweepDocument) -> str:
    """What holds the fastest configuration up; empty where that is not on record."""
    return _fastest(_median_trials(document))


def _fastest(found: Sequence[tuple[TrialRow, Throughput]]) -> str:
    if not found:
        return ""
    told = _told(bottleneck(found[0][1].drafters))
    return f"In the fastest configuration that survived, {told}."


def _unknown(document: SweepDocument) -> str:
    survived = [one for one in configurations(document) if one.survived]
    if not survived:
        return "No configuration survived every trial."
    if not any(one.throughput for one in survived):
        return "No configuration that survived reported its speed."
    return "Not on record: an earlier version of fxrace measured these trials."


def _median_trials(document: SweepDocument) -> list[tuple[TrialRow, Throughput]]:
    """One trial of each configuration that survived, the fastest configuration first."""
    groups: dict[grid.Key, list[tuple[TrialRow, Throughput]]] = {}
    for trial in document.trials:
        if trial.throughput is not None and not trial.verdict.failed:
            groups.setdefault(_chosen(trial), []).append((trial, trial.throughput))
    timed = [
        (one.throughput.median, groups.get(grid.key(one.knobs), []))
        for one in configurations(document)
        if one.survived and one.throughput is not None
    ]
    timed.sort(key=lambda pair: -pair[0])
    chosen = (_median(trials) for _, trials in timed)
    return [pair for pair in chosen if pair is not None]


def _chosen(trial: TrialRow) -> grid.Key:
    return grid.key({axis: value for axis, value in trial.knobs.items() if axis != CONDITION})


def _median(trials: Sequence[tuple[TrialRow, Throughput]]) -> tuple[TrialRow, Throughput] | None:
    """The lower one of two in the middle, of those that say whose time went where."""
    telling = [pair for pair in trials if pair[1].drafters]
    calm = [pair for pair in telling if pair[0].knobs.get(CONDITION, CALM) == CALM]
    ranked = sorted(calm or telling, key=lambda pair: pair[1].draft_slots_per_s)
    return ranked[(len(ranked) - 1) // 2] if ranked else None


def _lines(trial: TrialRow, speed: Throughput, names: tuple[str, ...]) -> list[Line]:
    return [
        Line(
            label=named(trial.knobs, tuple(n for n in names if n != CONDITION)) or ONE,
            digest=trial.digest,
            speed=one,
            gil=None if speed.gil_share is None else speed.gil_share.get(_thread(one), 0.0),
            most=_most(one),
        )
        for one in speed.drafters[:DRAFTERS]
    ]


def _thread(one: DrafterSpeed) -> str:
    return f"drafter-{one.drafter}"


def _most(one: DrafterSpeed) -> Wait:
    if max(one.queue_wait, one.lock_wait) < MOST:
        return Wait.NONE
    return Wait.FEATURES if one.queue_wait >= one.lock_wait else Wait.LOCKS


def _told(found: Bottleneck) -> str:
    share = f"{words.percent(found.share)}\u00a0% of the time"
    return {
        Cause.TARGETS: f"drafters wait for features {share}: targets are the bottleneck",
        Cause.LOCKS: f"drafters wait for locks {share}: locking is the bottleneck",
        Cause.HANDOFF: f"features lie ready {share} before drafters have them: the hand-off is "
        "the bottleneck",
        Cause.UNEVEN: f"some drafters wait for features {share} and others hardly: they, or the "
        "targets that feed them, are unequally fast",
        Cause.DRAFTERS: f"drafters wait for little and spend {share} in their own steps: they "
        "are the bottleneck",
    }[found.cause]


_SHORT = {
    Cause.TARGETS: "targets",
    Cause.LOCKS: "locking",
    Cause.HANDOFF: "the hand-off",
    Cause.UNEVEN: "unequal speed",
    Cause.DRAFTERS: "drafters",
}


def _others(shown: Sequence[tuple[TrialRow, Throughput]]) -> str:
    """``In the 7 others shown it is locking (4) or targets (3).``"""
    if not shown:
        return ""
    counts = Counter(_SHORT[bottleneck(speed.drafters).cause] for _, speed in shown)
    several = len(counts) > 1
    told = " or ".join(f"{name} ({n})" if several else name for name, n in counts.most_common())
    return f"In the {'other' if len(shown) == 1 else f'{len(shown)} others'} shown it is {told}."
