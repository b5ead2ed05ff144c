"""The target of ``fxrace explore A B --bound N``: every schedule of two operations, in one process.

Both run under the baton; a strategy decides who goes on at each point. What differs from running
alone is reduced to its fewest switches and recorded as ``difference`` with the token that plays it
again. ``replay`` plays one token, as often as asked, and says how often it showed the same.

The surprise: this process plays nothing itself. Schedules run in forks of it, and a fork that
came out poisoned is never used again.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from fxrace.core.states import by_name
from fxrace.probe.explore import canonical, token
from fxrace.probe.explore.cause import NONE, Cause, Symptom, cause_of
from fxrace.probe.explore.choices import Stops
from fxrace.probe.explore.explorer import Budget, Exploration, begin, explore
from fxrace.probe.explore.guarded import before_hooks
from fxrace.probe.explore.minimise import Minimiser
from fxrace.probe.explore.played import Played
from fxrace.probe.explore.program import Body, Program
from fxrace.probe.explore.schedule import Stage, exploring
from fxrace.probe.explore.unexplored import quiet, refusal, unexplored
from fxrace.probe.explore.workers import Workers
from fxrace.probe.operations import Operation, load
from fxrace.probe.recorder import Recorder
from fxrace.records.trial import Trial

STRATEGY, GRAIN = "portfolio", "state"
#: How often the least schedule of a cause is played again before it is told.
PLAYED = 3


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
        for cause in found.causes:
            _tell(cause, found, program, stage, workers, recorder, about)
    recorder.emit("pair", **_summary(a, b, found, about, began))


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
        what = token.matched(str(trial.settings["token"]), about(program, grain, stage))
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


def about(program: Program, grain: str, stage: Stage) -> str:
    """What a token of this program begins with."""
    states = () if stage.watched is None else stage.watched.names
    return token.what(program.name, len(program.names), grain, states)


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


def _tell(
    cause: Cause,
    found: Exploration,
    program: Program,
    stage: Stage,
    workers: Workers,
    recorder: Recorder,
    about_: Mapping[str, str],
) -> None:
    """One ``difference`` per symptom of this cause, all with the least schedule that shows it."""

    def shows(tried: Program, chooser: Any) -> bool:
        now = cause_of(workers.play(tried, chooser), found.reference, _same)
        return now is not None and now.fingerprint == cause.fingerprint

    simplest = found.simplest(cause.fingerprint)
    minimal = Minimiser(shows).minimise(program, simplest)
    played = workers.play(program, Stops(minimal.start, minimal.stops))
    again = cause_of(played, found.reference, _same)
    kept = played if again is not None and again.fingerprint == cause.fingerprint else simplest
    count = sum(one.fingerprint == cause.fingerprint for one, _ in found.found)
    shown = sum(shows(program, token.Replay(token.decisions(kept.steps))) for _ in range(PLAYED))
    for symptom in cause.symptoms:
        recorder.emit(
            "difference",
            **_said(cause, symptom, kept, program),
            count=count,
            shown={"k": shown, "n": PLAYED},
            token=_token(kept, about(program, about_["grain"], stage)),
        )


def _token(played: Played, what: str) -> str:
    try:
        return token.written(what, played.steps)
    except token.TokenError:
        return ""


def _said(cause: Cause, symptom: Symptom, played: Played, program: Program) -> dict[str, Any]:
    a, b = program.name.split(" ")
    left = next((one for one in played.deviations if one.state == cause.state), None)
    state = by_name(cause.state) if cause.state else None
    stops = [one for one in played.stood if one.thread in (0, 1)]
    return {
        "a": a,
        "b": b,
        "wrong": {"A": "a", "B": "b"}.get(symptom.thread, symptom.thread),
        "tier": symptom.tier.value,
        "symptom": f"{symptom.kind} {symptom.what}",
        "error": None,
        "state": cause.state,
        "proof": "forced",
        "others_off": [name for name in cause.states if name != cause.state],
        "value": {
            "before": left.before if left else "",
            "during": left.during
            if left
            else f"borrowed by a {state.borrowed_by}"
            if state
            else "",
            "after": left.after if left else "",
        },
        "point": " > ".join(f"{played.names[one.thread]} at {one.at}" for one in stops),
        "b_point": "",
        "region": next((one for one in cause.regions if one != NONE), ""),
        "frames": {name: _frames(played, number) for number, name in enumerate("ab")},
        "locks": {"a": [], "b": []},
        "fingerprint": cause.fingerprint,
    }


def _frames(played: Played, thread: int) -> list[Any]:
    """Where the thread came out wrong; else where it last had to stop."""
    error = played.ended[thread].error
    if error is not None:
        return list(error["frames"])
    stood = [one for one in played.stood if one.thread == thread]
    return [list(frame) for frame in stood[-1].stack] if stood else []


def _summary(
    a: str, b: str, found: Exploration, about_: Mapping[str, str], began: float
) -> dict[str, Any]:
    proved = found.exhausted and not found.slips and not found.unsteady
    failing = [one for one in found.reference if not one.returned]
    if failing:
        error = failing[0].error or {"type": "it does not end"}
        verdict, reason = "inconclusive", f"{failing[0].thread} alone fails: {error['type']}"
    elif found.unsteady:
        verdict, reason = "inconclusive", found.unsteady[0]
    elif found.found:
        verdict, reason = "finding", ""
    else:
        verdict, reason = "safe", ""
    blocked = sum(1 for _, played in found.found if played.blocks)
    return {
        "a": a,
        "b": b,
        "grain": about_["grain"],
        "strategy": found.strategy,
        "points": sum(found.points),
        "stopped": sum(found.points),
        "schedules": found.schedules,
        "preemption_bound": found.bound,
        "exhausted": proved,
        "slips": found.slips,
        "blocked": blocked,
        "differences": len(found.found),
        "coverage": found.coverage.told(),
        "verdict": "finding" if found.found else verdict,
        "reason": reason,
        "duration_s": round(time.monotonic() - began, 3),
    }


def _text(trial: Trial, name: str, usual: str) -> str:
    return str(trial.settings.get(name) or usual)
