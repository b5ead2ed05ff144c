"""Pairs of operations as trials: which process explores what, and what a pair is known by.

Several pairs with one A share a trial, because they share what A gives alone; a pair's own digest
does not depend on its company.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from fxrace.records.trial import Limits, Setting, Trial

INTERFERENCE = "interference"
#: Strategy -> the target that follows it; every other strategy is the scheduler's.
_PAIR, _SCHEDULED = "fxrace.probe.explore.pair", "fxrace.probe.explore.scheduled"
_REPLAY = {
    _PAIR: "fxrace.probe.explore.stop_replay:replay",
    _SCHEDULED: f"{_SCHEDULED}:replay",
}
TOGETHER = 8
#: One pair may take minutes (an Inductor compile at some hundred stops), eight of them longer.
LIMITS = Limits(trial_s=3600.0, silence_s=120.0, busy_s=1800.0)

Pair = tuple[str, str]


def trial_of(a: str, others: Iterable[str], settings: Mapping[str, Setting]) -> Trial:
    """The trial that explores ``a`` against each of ``others``."""
    return Trial(
        target=f"{module_of(settings)}:run",
        knobs={"a": a, "b": ",".join(others)},
        settings=settings,
        limits=LIMITS,
    )


def module_of(settings: Mapping[str, Setting]) -> str:
    """The module of the trial process that follows the strategy these settings name."""
    return _PAIR if settings["strategy"] == INTERFERENCE else _SCHEDULED


def digest_of(pair: Pair, settings: Mapping[str, Setting]) -> str:
    """What a pair is known by, whichever pairs it shared a process with."""
    return trial_of(pair[0], pair[1:], settings).digest


def replay_of(
    pair: Pair, settings: Mapping[str, Setting], *, shown: Mapping[str, Setting], times: int
) -> Trial:
    """The trial that plays one schedule of a pair again; ``shown`` is what is known of it."""
    again = {**settings, **shown, "times": times}
    return Trial(
        target=_REPLAY[module_of(settings)],
        knobs={"a": pair[0], "b": pair[1]},
        settings=again,
        limits=LIMITS,
    )


def batches(missing: Sequence[Pair], settings: Mapping[str, Setting]) -> Iterator[Trial]:
    """The trials that explore what is missing, every A with some of its Bs."""
    together = TOGETHER if module_of(settings) == _PAIR else 1
    by_a: dict[str, list[str]] = defaultdict(list)
    for a, b in missing:
        by_a[a].append(b)
    for a, others in by_a.items():
        for start in range(0, len(others), together):
            yield trial_of(a, others[start : start + together], settings)


def is_exploration(trial: Trial) -> bool:
    """True for trials that explore pairs, whatever the strategy."""
    return trial.target in (f"{_PAIR}:run", f"{_SCHEDULED}:run")


def pairs_of(trial: Trial) -> list[Pair]:
    """The pairs that a trial of ``batches`` explores, in its order."""
    return [(trial.knobs["a"], b) for b in trial.knobs["b"].split(",")]


def pair_of(text: str) -> Pair:
    """``"a b"`` as a pair; names hold no spaces."""
    a, _, b = text.partition(" ")
    return a, b
