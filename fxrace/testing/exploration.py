"""Plays callables of a test as threads, under many schedules, and says what came out unlike alone.

It happens in a fork of the process that runs the test, and every schedule in a fork of that one:
fixtures are there as they are, and nothing that a schedule does to them or to torch is there
afterwards. The surprise: a test that fails by itself is not explored; it has no reference.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from fxrace import guards
from fxrace.core.exploration import Explored, explored_of
from fxrace.probe.explore import canonical, scheduled_told, token
from fxrace.probe.explore.cause import Cause, cause_of
from fxrace.probe.explore.choices import InOrder
from fxrace.probe.explore.explorer import Budget, begin, explore
from fxrace.probe.explore.interference_fork import Say, forked
from fxrace.probe.explore.played import Played
from fxrace.probe.explore.program import Body, Program
from fxrace.probe.explore.schedule import Limits, Stage, exploring
from fxrace.probe.explore.thread_programs import LETTERS, alike
from fxrace.probe.explore.unexplored import quiet, unexplored
from fxrace.probe.explore.workers import Workers
from fxrace.testing import locks
from fxrace.testing.in_process import InProcess
from fxrace.testing.wanted import Wanted

#: For what is not exploring: starting, minimising, playing again.
SPARE_S = 120.0
#: Of a processor, per schedule; and of the clock, as a busy machine must not change a verdict.
ONE_S, BUSY_S = 30.0, 300.0
#: Schedules spent on finding a smaller one: a token as short as it gets is for ``fxrace explore``.
MINIMISED = 40
ALONE = "alone"


@dataclass(frozen=True, kw_only=True, slots=True)
class Subject:
    """``who`` are the names of the bodies, for readers. ``prepare`` makes fresh bodies.
    ``silent``: what the bodies print goes nowhere.
    """

    who: tuple[str, ...]
    prepare: Callable[[], Sequence[Body]]
    silent: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """``explored`` as ``fxrace explore`` has it. ``exact``: a replay went the same way.
    ``fails_alone``: the test fails, skips or leaves its mark without a second thread.
    """

    explored: Explored
    exact: bool = True
    fails_alone: bool = False
    foreign: bool = False
    """The token to replay is of something else."""


def in_forks(subject: Subject, wanted: Wanted, replay: str) -> Result:
    """Explore, or play the token ``replay``, in forks of this process."""
    main = threading.main_thread().ident
    others = [one for one in threading.enumerate() if one.ident not in {main, *_plugins}]
    started = [one.name for one in others if not one.name.startswith(_OURS)]
    if started:
        reason = f"a fork would lose the threads {', '.join(started)}; try --fxrace-isolate=none"
        return _result(subject, [{"is": "pair", **_nothing(subject, wanted, reason)}])

    def body(say: Say) -> None:
        if subject.silent:
            _silence()
        within_s = _within_s(wanted)
        with _stage(wanted) as stage, Workers(stage, spent=_always, limit_s=within_s) as workers:
            workers.import_for(_program(subject, wanted))
            _drive(subject, wanted, replay, workers.play, say)

    heard = forked(body, limit_s=2 * wanted.seconds + SPARE_S, watchdog=False)
    messages = list(heard.messages)
    if heard.last("pair") is None:
        broken = heard.last("broken")
        reason = broken["reason"] if broken else f"the exploring process {heard.end.value}"
        messages.append({"is": "pair", **_nothing(subject, wanted, reason)})
    return _result(subject, messages)


def in_this_process(subject: Subject, wanted: Wanted, replay: str) -> Result:
    """The same without forks: it ends at the first difference, which poisons this process."""
    messages: list[Mapping[str, Any]] = []
    with _stage(wanted) as stage:
        play = InProcess(stage)
        _drive(subject, wanted, replay, play.play, messages.append, more=play.usable)
    return _result(subject, messages)


#: Threads that plugins of pytest keep: those of a time limit begin with each test, the others are
#: there before the tests are even collected.
_OURS = ("pytest_timeout", "Dummy")
_plugins: set[int | None] = set()


def plugins_are_there() -> None:
    """Called before tests are collected: whatever thread there is now is no test's."""
    _plugins.update(one.ident for one in threading.enumerate())


@contextmanager
def _stage(wanted: Wanted) -> Iterator[Stage]:
    import torch

    quiet()
    torch.set_num_threads(1)  # OpenMP's threads do not survive a fork
    inductor = sys.modules.get("torch._inductor.config")
    if inductor is not None:
        inductor.compile_threads = 1  # type: ignore[attr-defined]
    with guards.install(*wanted.guards):
        limits = Limits(limit_s=min(ONE_S, wanted.seconds), within_s=_within_s(wanted))
        with exploring(wanted.grain, limits=limits, current=locks.CURRENT) as stage:
            yield stage


def _within_s(wanted: Wanted) -> float:
    return min(BUSY_S, wanted.seconds)


def _program(subject: Subject, wanted: Wanted) -> Program:
    return Program(
        prepare=subject.prepare,
        names=tuple(LETTERS[: len(subject.who)]),
        condense=canonical.canonical,
        name=wanted.name,
    )


def _drive(
    subject: Subject,
    wanted: Wanted,
    replay: str,
    play: Callable[[Program, Any], Played],
    say: Callable[[dict[str, Any]], None],
    *,
    more: Callable[[], bool] = lambda: True,
) -> None:
    """Says ``difference``s and one ``pair``, and before that why there can be no reference."""
    program = _program(subject, wanted)
    # Not by the States that are loaded: a test of a whole suite is replayed alone.
    head = token.what(program.name, len(program.names), wanted.grain, ())
    if replay and token.read(replay).about != head:
        say({"is": "foreign"})
        say({"is": "pair", **_nothing(subject, wanted, "the token is of something else")})
        return
    if why_not := _fails_alone(play(program, InOrder(tuple(range(len(program.names)))))):
        say({"is": ALONE})
        say({"is": "pair", **_nothing(subject, wanted, why_not)})
        return
    if replay:
        _replay(subject, wanted, token.read(replay), program, play, say)
        return
    _explore(subject, wanted, head, program, play, say, more)


def _explore(
    subject: Subject,
    wanted: Wanted,
    head: str,
    program: Program,
    play: Callable[[Program, Any], Played],
    say: Callable[[dict[str, Any]], None],
    more: Callable[[], bool],
) -> None:
    """Every cause with its least schedule, and what was tried."""
    began = time.monotonic()
    found = explore(
        program,
        play,
        strategy=None if wanted.strategy == "portfolio" else wanted.strategy,
        budget=Budget(
            schedules=wanted.schedules, seconds=wanted.seconds, bound=wanted.bound, seed=wanted.seed
        ),
        same=alike,
        enough=lambda causes: not more() or _is_new(causes, wanted),
    )
    telling = scheduled_told.Telling(
        play=play,
        program=program,
        found=found,
        who=subject.who,
        head=head,
        same=alike,
        most=MINIMISED,
    )
    for cause in found.causes:
        for said in telling.of(cause):
            say({"is": "difference", **said})
    summary = scheduled_told.summary(subject.who, found, wanted.grain, began)
    if found.stopped_by == "time" and summary["verdict"] == "safe":
        said_ = f"the time ran out after {found.schedules} of {wanted.schedules} schedules"
        summary |= {"verdict": "inconclusive", "reason": said_}
    say({"is": "pair", **summary})


def _is_new(causes: tuple[Cause, ...], wanted: Wanted) -> bool:
    return any(cause.fingerprint not in wanted.tolerated for cause in causes)


def _replay(
    subject: Subject,
    wanted: Wanted,
    what: token.Token,
    program: Program,
    play: Callable[[Program, Any], Played],
    say: Callable[[dict[str, Any]], None],
) -> None:
    """One schedule, against both serial orders."""
    began = time.monotonic()
    program, told = begin(program, play, alike)
    played = play(program, token.Replay(what.made))
    cause = cause_of(played, told.reference, alike)
    told.strategy, told.schedules, told.slips = "replay", 1, len(played.slips)
    if cause is not None:
        told.found.append((cause, played))
        for symptom in cause.symptoms:
            shown = {"count": 1, "shown": {"k": 1, "n": 1}}
            said = scheduled_told.said(cause, symptom, played, subject.who)
            written = token.written(what.about, played.steps)
            say({"is": "difference", **said, **shown, "token": written})
    exact = what.is_exact(played.steps)
    say({"is": "exact", "exact": exact})
    summary = scheduled_told.summary(subject.who, told, wanted.grain, began)
    if cause is None and not exact:
        drift = played.drift or "it came to other points than before"
        summary |= {"verdict": "inconclusive", "reason": f"the schedule went another way: {drift}"}
    say({"is": "pair", **summary})


def _fails_alone(played: Played) -> str:
    for one in played.ended:
        if not one.returned:
            error = one.error or {"type": "no end", "message": played.end.value}
            message = canonical.without_addresses(str(error["message"]))
            return f"alone it does not pass: {error['type']}: {message[:200]}"
    if played.deviations:
        left = played.deviations[0]
        return f"alone it leaves {left.attribute} at {left.after}, so nothing can be compared"
    return ""


def _nothing(subject: Subject, wanted: Wanted, reason: str) -> Mapping[str, Any]:
    a, b = subject.who[:2]
    return unexplored(
        a, b, "inconclusive", reason, grain=wanted.grain, strategy=wanted.strategy
    )  # fmt: skip


def _result(subject: Subject, messages: Sequence[Mapping[str, Any]]) -> Result:
    kinds: dict[str, list[Mapping[str, Any]]] = {}
    for message in messages:
        kinds.setdefault(message["is"], []).append(message)
    a, b = subject.who[:2]
    return Result(
        explored=explored_of((a, b), kinds["pair"][-1], kinds.get("difference", [])),
        exact=all(one["exact"] for one in kinds.get("exact", ())),
        fails_alone=ALONE in kinds,
        foreign="foreign" in kinds,
    )


def _always(_: Played) -> bool:
    return True


def _silence() -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    os.close(nowhere)
