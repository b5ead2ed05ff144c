"""The target of ``fxrace explore A B --bound N``: every schedule of two operations, in one process.

Both run under the baton; a strategy decides who goes on at each point. What differs from running
alone is reduced to its fewest switches and recorded as ``difference`` with the token that plays it
again. ``replay`` plays one token, as often as asked, and says how often it showed the same.

The surprise: this process plays nothing itself. Schedules run in forks of it, and a fork that
came out poisoned is never used again.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from fxrace.probe.explore import canonical, scheduled_told, token
from fxrace.probe.explore.cause import Cause, cause_of
from fxrace.probe.explore.explorer import Budget, begin, explore
from fxrace.probe.explore.guarded import before_hooks
from fxrace.probe.explore.played import Played
from fxrace.probe.explore.program import Body, Program
from fxrace.probe.explore.schedule import Stage, exploring
from fxrace.probe.explore.unexplored import quiet, refusal, unexplored
from fxrace.probe.explore.workers import Workers
from fxrace.probe.operations import Operation, load
from fxrace.probe.recorder import Recorder
from fxrace.records.trial import Trial

STRATEGY, GRAIN = "portfolio", "state"


def run(trial: Trial, recorder: Recorder) -> None:
    """Explore the one pair that the knobs name. Settings: strategy, grain, bound, seed,
    schedules (at most), seconds (at most).
    """
    a, b = trial.knobs["a"], trial.knobs["b"]
    about = {"strategy": _text(trial, "strategy", STRATEGY), "grain": _text(trial, "grain", GRAIN)}
    reason = refusal((a, b), str(trial.settings.get("device") or "cpu"))
    if reason is not None:
        recorder.emit("pair", **unexplored(a, b, *reason, **about))
        return
    quiet()
    began = time.monotonic()
    program = program_of(load(a), load(b))
    with _workers(about["grain"]) as (stage, workers):
        workers.import_for(program)
        found = explore(
            program,
            workers.play,
            strategy=None if about["strategy"] == "portfolio" else about["strategy"],
            budget=_budget(trial),
            same=_same,
            heard=lambda played, cause: _heartbeat(recorder, played, cause),
        )
        head = scheduled_told.about(program, about["grain"], stage)
        for cause in found.causes:
            telling = scheduled_told.Telling(
                play=workers.play, program=program, found=found, who=(a, b), head=head, same=_same
            )
            for said in telling.of(cause):
                recorder.emit("difference", **said)
    recorder.emit("pair", **scheduled_told.summary((a, b), found, about["grain"], began))


def replay(trial: Trial, recorder: Recorder) -> None:
    """Play ``settings["token"]`` ``settings["times"]`` times; says ``replayed``."""
    a, b = trial.knobs["a"], trial.knobs["b"]
    grain = _text(trial, "grain", GRAIN)
    quiet()
    program = program_of(load(a), load(b))
    wanted = str(trial.settings["fingerprint"] or "")
    shown, exact, drifts = 0, 0, list[str]()
    fingerprints: dict[str, int] = {}
    times = int(trial.settings["times"] or 1)
    with _workers(grain) as (stage, workers):
        workers.import_for(program)
        program, told = begin(program, workers.play, _same)
        what = token.matched(
            str(trial.settings["token"]), scheduled_told.about(program, grain, stage)
        )
        for number in range(times):
            played = workers.play(program, token.Replay(what.made))
            cause = cause_of(played, told.reference, _same)
            print_ = cause.fingerprint if cause else ""
            fingerprints[print_] = fingerprints.get(print_, 0) + 1
            shown += bool(cause) and (not wanted or print_ == wanted)
            exact += what.is_exact(played.steps)
            if played.drift:
                drifts.append(played.drift)
            if number % 50 == 0:
                recorder.emit("beat", what=f"replayed {number} of {times}")
    recorder.emit(
        "replayed", k=shown, n=times, exact=exact, drift=drifts[:1], fingerprints=fingerprints
    )


replay.unhooked = run.unhooked = True  # type: ignore[attr-defined]
replay.before_hooks = run.before_hooks = before_hooks  # type: ignore[attr-defined]


def program_of(a: Operation, b: Operation) -> Program:
    """Two bodies, each on a fresh subject that is prepared before any thread starts."""

    def prepare() -> Sequence[Body]:
        return [_body(a), _body(b)]

    return Program(prepare=prepare, condense=canonical.canonical, name=f"{a.name} {b.name}")


def _body(operation: Operation) -> Body:
    subject = operation.prepare()
    return lambda: operation.run(subject)


@contextmanager
def _workers(grain: str) -> Iterator[tuple[Stage, Workers]]:
    with exploring(grain) as stage, Workers(stage) as workers:
        yield stage, workers


def _same(one: Any, other: Any) -> bool:
    return next(canonical.differences(one, other), None) is None


def _budget(trial: Trial) -> Budget:
    usual = Budget()
    given = trial.settings
    return Budget(
        schedules=int(given.get("schedules") or usual.schedules),
        seconds=float(given.get("seconds") or usual.seconds),
        bound=usual.bound if given.get("bound") is None else int(given["bound"] or 0),
        seed=trial.seed,
    )


def _heartbeat(recorder: Recorder, played: Played, cause: Cause | None) -> None:
    """The watchdog must hear of every schedule: one may take as long as a compile."""
    told = cause.fingerprint if cause else "as alone"
    recorder.emit("beat", what=f"{len(played.steps)} steps, {told}")


def _text(trial: Trial, name: str, usual: str) -> str:
    return str(trial.settings.get(name) or usual)
