"""What is asked of one test: its markers over the settings of the run.

Markers are read when tests are collected, so that a typing error ends the run with a sentence
and not, an hour later, as a failure of one test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest

from fxrace.catalog.operations import strategies
from fxrace.testing.settings import Settings, seconds_of, seed_of

CLEAN = "clean"
GRAINS = ("region", "state", "call")
MARK, KNOWN, SKIP = "fxrace", "fxrace_known", "fxrace_skip"


@dataclass(frozen=True, kw_only=True, slots=True)
class Known:
    """A cause that is known, by fingerprint or slug, and where; ``until`` a version of torch."""

    what: str
    issue: str = ""
    until: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """One exploration. ``name`` is what its tokens are good for; ``seed`` is its own."""

    name: str
    threads: int
    schedules: int
    seconds: float
    seed: int
    guards: tuple[str, ...] = ()
    strategy: str = "portfolio"
    grain: str = "state"
    bound: int = 2
    expect: str = CLEAN
    known: tuple[Known, ...] = ()
    tolerated: frozenset[str] = frozenset()
    """Fingerprints that do not end the exploration, as more may be behind them."""


def wanted_of(item: pytest.Item, settings: Settings) -> Wanted | None:
    """What the test's ``fxrace`` marker asks for; None where it has none, or is to be left alone.

    Raises pytest.UsageError with the test's id and what is wrong.
    """
    mark = item.get_closest_marker(MARK)
    if mark is None or item.get_closest_marker(SKIP) is not None:
        return None
    return with_(usual(item, settings), mark.args, mark.kwargs, item.nodeid)


def usual(item: pytest.Item, settings: Settings) -> Wanted:
    """What holds for this test where its marker says nothing else."""
    return Wanted(
        name=item.nodeid,
        threads=settings.threads,
        schedules=settings.schedules,
        seconds=settings.seconds,
        seed=seed_of(settings.seed, item.nodeid),
        guards=settings.guards,
        known=known_of(item),
    )


def with_(wanted: Wanted, args: tuple[Any, ...], given: Mapping[str, Any], where: str) -> Wanted:
    """The same with keywords of a marker or a call. Raises pytest.UsageError."""
    if args:
        raise pytest.UsageError(f"{where}: fxrace takes keywords only, not {args[0]!r}")
    unknown = sorted(given.keys() - _CHECKS.keys())
    if unknown:
        raise pytest.UsageError(
            f"{where}: fxrace takes no {unknown[0]!r}; it takes {', '.join(sorted(_CHECKS))}"
        )
    for name, value in given.items():
        if wrong := _CHECKS[name](value):
            raise pytest.UsageError(f"{where}: {name}={value!r} {wrong}")
    fields = {name: value for name, value in given.items() if name != "time"}
    if "time" in given:
        fields["seconds"] = seconds_of(str(given["time"]), f"{where}: time")
    return replace(wanted, **fields)


def known_of(item: pytest.Item) -> tuple[Known, ...]:
    """The ``fxrace_known`` markers. Raises pytest.UsageError."""
    return tuple(_known(mark, item.nodeid) for mark in item.iter_markers(KNOWN))


def _known(mark: pytest.Mark, where: str) -> Known:
    names = ("fp", "issue", "until")
    given = dict(zip(names, mark.args, strict=False)) | dict(mark.kwargs)
    if len(mark.args) > len(names) or given.keys() - {*names} or not given.get("fp"):
        raise pytest.UsageError(f"{where}: fxrace_known takes fp, issue and until; fp is needed")
    return Known(
        what=str(given["fp"]), issue=str(given.get("issue", "")), until=str(given.get("until", ""))
    )


def _whole(least: int) -> Callable[[Any], str]:
    def check(value: Any) -> str:
        fits = isinstance(value, int) and not isinstance(value, bool) and value >= least
        return "" if fits else f"is no whole number from {least} on"

    return check


def _among(known: Callable[[], Iterable[str]]) -> Callable[[Any], str]:
    def check(value: Any) -> str:
        names = tuple(known())
        return "" if value in names else f"is none of {', '.join(names)}"

    return check


def _text(value: Any) -> str:
    return "" if isinstance(value, str) and value else "is no text"


def _time(value: Any) -> str:
    return "" if isinstance(value, (str, int, float)) else "is no time"


_CHECKS: Mapping[str, Callable[[Any], str]] = {
    "threads": _whole(2),
    "schedules": _whole(1),
    "bound": _whole(0),
    "strategy": _among(lambda: ("portfolio", *strategies())),
    "grain": _among(lambda: GRAINS),
    "expect": _text,
    "time": _time,
}
