"""What is said of an exploration under the scheduler: a ``difference`` per symptom, one ``pair``.

Shared by ``fxrace explore`` and the tests' plugin, so that both tell a cause alike. Each cause is
shown by its least schedule, which is played a few times more before it is told.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from fxrace.core.states import by_name
from fxrace.probe.explore import token
from fxrace.probe.explore.cause import NONE, Cause, Same, Symptom, cause_of
from fxrace.probe.explore.choices import Stops
from fxrace.probe.explore.explorer import Exploration, Play
from fxrace.probe.explore.minimise import Minimiser
from fxrace.probe.explore.played import Played
from fxrace.probe.explore.program import Program
from fxrace.probe.explore.schedule import Stage

#: How often the least schedule of a cause is played again before it is told.
PLAYED = 3
MOST = 400


def about(program: Program, grain: str, stage: Stage) -> str:
    """What a token of this program begins with."""
    states = () if stage.watched is None else stage.watched.names
    return token.what(program.name, len(program.names), grain, states)


@dataclass(frozen=True, kw_only=True, slots=True)
class Telling:
    """``who`` are the names of the bodies, ``head`` is what their tokens begin with."""

    play: Play
    program: Program
    found: Exploration
    who: tuple[str, ...]
    head: str
    same: Same
    most: int = MOST
    """How many schedules the search for the least one may take."""

    def of(self, cause: Cause) -> Iterator[dict[str, Any]]:
        """One ``difference`` per symptom of this cause, all with the least schedule of it."""
        kept = self._least(cause)
        count = sum(one.fingerprint == cause.fingerprint for one, _ in self.found.found)
        again = token.Replay
        made = token.decisions(kept.steps)
        shown = sum(self._shows(cause, self.program, again(made)) for _ in range(PLAYED))
        for symptom in cause.symptoms:
            yield {
                **said(cause, symptom, kept, self.who),
                "count": count,
                "shown": {"k": shown, "n": PLAYED},
                "token": _token(kept, self.head),
            }

    def _least(self, cause: Cause) -> Played:
        simplest = self.found.simplest(cause.fingerprint)
        minimiser = Minimiser(
            lambda tried, chooser: self._shows(cause, tried, chooser), most=self.most
        )
        minimal = minimiser.minimise(self.program, simplest)
        if len(minimal.program.names) < len(self.program.names):
            return simplest  # a token is for all threads of a program
        played = self.play(self.program, Stops(minimal.start, minimal.stops))
        again = cause_of(played, self.found.reference, self.same)
        shows = again is not None and again.fingerprint == cause.fingerprint
        return played if shows else simplest

    def _shows(self, cause: Cause, tried: Program, chooser: Any) -> bool:
        alone = [one for one in self.found.reference if one.thread in tried.names]
        now = cause_of(self.play(tried, chooser), alone, self.same)
        return now is not None and now.fingerprint == cause.fingerprint


def _token(played: Played, head: str) -> str:
    """None for a process that was lost: it took its steps with it."""
    if not played.steps:
        return ""
    try:
        return token.written(head, played.steps)
    except token.TokenError:
        return ""


def said(cause: Cause, symptom: Symptom, played: Played, who: tuple[str, ...]) -> dict[str, Any]:
    """A symptom in this schedule, with the two threads that it shows best."""
    left = next((one for one in played.deviations if one.state == cause.state), None)
    state = by_name(cause.state) if cause.state else None
    a, b = sides(symptom, played)
    stops = [one for one in played.stood if one.thread < len(who)]
    return {
        "a": who[a],
        "b": who[b],
        "wrong": {played.names[a]: "a", played.names[b]: "b"}.get(symptom.thread, symptom.thread),
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
        "frames": {"a": _frames(played, a), "b": _frames(played, b)},
        "locks": {"a": [], "b": []},
        "fingerprint": cause.fingerprint,
    }


def sides(symptom: Symptom, played: Played) -> tuple[int, int]:
    """The two threads to show, in order: the one that came out wrong, and one that was stopped."""
    numbers = range(len(played.names))
    wrong = [n for n in numbers if played.names[n] == symptom.thread]
    stood = [one.thread for one in played.stood if one.thread in numbers]
    one, other = [*dict.fromkeys((*wrong, *stood, *numbers))][:2]
    return min(one, other), max(one, other)


def _frames(played: Played, thread: int) -> list[Any]:
    """Where the thread came out wrong; else where it last had to stop."""
    error = played.ended[thread].error
    if error is not None:
        return list(error["frames"])
    stood = [one for one in played.stood if one.thread == thread]
    return [list(frame) for frame in stood[-1].stack] if stood else []


def summary(who: tuple[str, ...], found: Exploration, grain: str, began: float) -> dict[str, Any]:
    """The data of the ``pair`` event. ``began`` is by the monotonic clock."""
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
        "a": who[0],
        "b": who[1],
        "grain": grain,
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
