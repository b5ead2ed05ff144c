"""What the command line and the ini file ask of a whole run. The command line wins."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import pytest

from fxrace import guards
from fxrace.probe.explore import token
from fxrace.records.finding import Tier

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|)")
_UNITS = {"ms": 0.001, "s": 1.0, "": 1.0, "m": 60.0, "h": 3600.0}


class Mode(str, Enum):
    """How far it goes."""

    OFF = "off"
    OBSERVE = "observe"
    EXPLORE = "explore"


class Isolate(str, Enum):
    """Where schedules are played."""

    FORK = "fork"
    """Each in a fork of the process that runs the test."""
    SPAWN = "spawn"
    """The same, in a new interpreter per test: nothing earlier can have had an influence."""
    NONE = "none"
    """In the process itself, which is given up after the first difference."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """``seconds`` and ``schedules`` are per explored test. ``fail_on`` are tiers of findings."""

    mode: Mode = Mode.OFF
    schedules: int = 200
    seconds: float = 60.0
    seed: int = 0
    threads: int = 2
    replay: str = ""
    baseline: Path | None = None
    isolate: Isolate = Isolate.FORK
    guards: tuple[str, ...] = ()
    fail_on: frozenset[Tier] = frozenset({Tier.FAILURE, Tier.SILENT_WRONG, Tier.LEAK})
    report: Path | None = None
    update: bool = False
    """Write the baseline anew at the end of the run."""


def read(config: pytest.Config) -> Settings:
    """The settings of this run. Raises pytest.UsageError with a sentence."""
    usual = Settings()
    replay = str(config.getoption("fxrace_replay") or "").strip()
    mode = _one_of(Mode, _text(config, "mode") or "off", "--fxrace")
    return Settings(
        mode=Mode.EXPLORE if replay else mode,
        schedules=_count(config, "schedules", usual.schedules),
        seconds=seconds_of(_text(config, "time"), "--fxrace-time") or usual.seconds,
        seed=_count(config, "seed", usual.seed, least=0),
        threads=_count(config, "threads", usual.threads, least=2),
        replay=_token(replay),
        baseline=_path(config, "baseline"),
        isolate=_one_of(Isolate, _text(config, "isolate") or "fork", "--fxrace-isolate"),
        guards=_guards(_text(config, "guard")),
        fail_on=_tiers(_text(config, "fail_on")) or usual.fail_on,
        report=_path(config, "report"),
        update=bool(config.getoption("fxrace_update")),
    )


def seconds_of(text: str, what: str) -> float:
    """``30s``, ``2m``, ``500ms`` or plain seconds; 0.0 for nothing. Raises pytest.UsageError."""
    if not text:
        return 0.0
    found = _DURATION.fullmatch(text.strip())
    if found is None or float(found[1]) <= 0:
        raise pytest.UsageError(f"{what}: {text!r} is no time; write 30s, 2m or 500ms")
    return float(found[1]) * _UNITS[found[2]]


def seed_of(base: int, nodeid: str) -> int:
    """The seed of one test: the same in whichever worker and order it runs."""
    return int.from_bytes(hashlib.sha256(f"{base}:{nodeid}".encode()).digest()[:4], "big")


def _text(config: pytest.Config, name: str) -> str:
    given = config.getoption(f"fxrace_{name}")
    return str(config.getini(f"fxrace_{name}") if given is None else given).strip()


def _count(config: pytest.Config, name: str, usual: int, *, least: int = 1) -> int:
    text = _text(config, name)
    if not text:
        return usual
    if not text.isdigit() or int(text) < least:
        option = f"--fxrace-{name}"
        raise pytest.UsageError(f"{option}: {text!r} is no whole number from {least} on")
    return int(text)


def _one_of(kind: Any, text: str, what: str) -> Any:
    try:
        return kind(text)
    except ValueError:
        known = ", ".join(one.value for one in kind)
        raise pytest.UsageError(f"{what}: {text!r} is none of {known}") from None


def _tiers(text: str) -> frozenset[Tier]:
    words = text.replace(",", " ").upper().split()
    return frozenset(_one_of(Tier, word, "--fxrace-fail-on") for word in words)


def _token(text: str) -> str:
    try:
        if text:
            token.read(text)
    except token.TokenError as error:
        raise pytest.UsageError(f"--fxrace-replay: {error}") from None
    return text


def _guards(text: str) -> tuple[str, ...]:
    names = tuple(filter(None, text.replace(" ", "").split(",")))
    for name in names:
        if name not in guards.available():
            known = ", ".join(guards.available())
            raise pytest.UsageError(f"--fxrace-guard: {name!r} is none of {known}")
    return names


def _path(config: pytest.Config, name: str) -> Path | None:
    """Relative to where pytest was called, from the ini file relative to that file's folder."""
    given = config.getoption(f"fxrace_{name}")
    if given is not None:
        return Path(config.invocation_params.dir, given)
    text = str(config.getini(f"fxrace_{name}"))
    return Path(config.rootpath, text) if text else None
