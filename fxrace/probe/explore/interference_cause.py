"""Which State made the difference: put one back to its baseline while B runs, and look again.

At a stop several States are off their baseline. The one whose un-doing heals the run is the
cause, and that is an experiment rather than a ranking: everything else is as it was. The ranking
(where the error was raised, what the registry says surfaces there) only decides what is tried
first. Where no State of the registry heals, everything that torch's modules hold is tried at
once, and if that heals it is halved down to one attribute: a State that the registry lacks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from fxrace.core.states import STATES, surfaced_at
from fxrace.probe.explore.interference_fork import Heard
from fxrace.probe.explore.interference_heal import WATCHED
from fxrace.probe.explore.interference_search import QUIESCENT, Search, shape

_TRIED_MOST, _RUNS_MOST = 8, 24


class Proof(str, Enum):
    """How the cause is known."""

    HEALED = "healed"
    """Putting this one back while B ran made the difference vanish."""
    HEALED_WITH_OTHERS = "healed with others"
    """It took several at once; the fewest that do."""
    UNDONE = "undone"
    """B changed it and A put it back as it was before B: a lost update."""
    LEFT = "left"
    """It is itself what is wrong afterwards."""
    ONLY = "only"
    """Nothing heals it, but no other State is off its baseline there."""
    NONE = "none"


@dataclass(frozen=True, kw_only=True, slots=True)
class Cause:
    """``state`` is a name of the registry, or ``module:attribute`` where it has none."""

    state: str | None
    proof: Proof
    others: tuple[str, ...] = ()

    paths: tuple[str, ...] = ()
    """Attributes that heal it, where it took more than the registry's States."""

    def course(self, off: tuple[str, ...]) -> dict[str, tuple[str, ...]] | None:
        """The settings of a run without this cause, where these States are off; None: cannot."""
        if self.paths:
            return {"wide": self.paths}
        if self.state is None or self.proof not in (Proof.HEALED, Proof.HEALED_WITH_OTHERS):
            return None
        together = self.others if self.proof is Proof.HEALED_WITH_OTHERS else ()
        states = (self.state, *together)
        return {"heal": states} if set(states) <= set(off) else None


def cause_of(
    search: Search,
    name: str,
    party: str,
    symptom: str,
    heard: Heard,
    hint: str | None,
    b_point: str = "",
) -> Cause:
    """The State behind this party's symptom at this stop. ``hint`` is tried first."""
    stop = heard.last("stop") or heard.last("blocked") or heard.last("inside") or {}
    off = tuple(stop.get("off", ()))
    own = party.removeprefix(f"{QUIESCENT}:") if party.startswith(QUIESCENT) else hint
    ranked = ranked_by_surface(off, _error_of(heard, party), own)
    changed = ""
    for state in ranked[:_TRIED_MOST]:
        left = search.left(name, party, b_until=b_point, heal=(state,))
        if left is None:
            return Cause(state=state, proof=Proof.HEALED, others=_but(off, state))
        if shape(left) != shape(symptom):
            changed = changed or state
    if changed:  # nothing clears it whole, but this one took the symptom away
        return Cause(state=changed, proof=Proof.HEALED, others=_but(off, changed))
    if len(ranked) > 1 and not search.shows(name, party, symptom, b_until=b_point, heal=tuple(off)):
        needed = _fewest(search, name, party, symptom, ranked, b_point)
        return Cause(state=needed[0], proof=Proof.HEALED_WITH_OTHERS, others=tuple(needed[1:]))
    if not b_point:
        found = _unlisted(search, name, party, symptom) or _undone(search, name)
        if found is not None:
            return found
    if party.startswith(QUIESCENT):
        return Cause(state=own, proof=Proof.LEFT, others=off)
    if len(off) == 1:  # part of it may be out of reach, in C++
        return Cause(state=off[0], proof=Proof.ONLY)
    return Cause(state=None, proof=Proof.NONE, others=off)


def ranked_by_surface(
    off: Sequence[str], error: Mapping[str, Any] | None, hint: str | None
) -> list[str]:
    """States in the order to try them: the hint, those that surface where it raised, the rest."""
    surfaced: list[str] = []
    for link in [] if error is None else [error, *error.get("causes", ())]:
        for file, _, function in reversed(link["frames"]):
            state = surfaced_at(file, function)
            if state is not None and state.name not in surfaced:
                surfaced.append(state.name)
    order = {state.name: index for index, state in enumerate(STATES)}
    wanted = [one for one in (hint, *surfaced) if one is not None and one in off]
    return list(dict.fromkeys([*wanted, *sorted(off, key=lambda one: order.get(one, 999))]))


def _but(off: tuple[str, ...], state: str) -> tuple[str, ...]:
    return tuple(one for one in off if one != state)


def _fewest(
    search: Search, name: str, party: str, symptom: str, off: list[str], b_point: str
) -> list[str]:
    """Of States that heal together, those that none can be left out of."""
    needed = list(off)
    for state in off:
        without = tuple(one for one in needed if one != state)
        if without and not search.shows(name, party, symptom, b_until=b_point, heal=without):
            needed.remove(state)
    return needed


def _undone(search: Search, name: str) -> Cause | None:
    """What B changed and A put back; only with one answer is it an answer."""
    undone = search.single(name, wide=WATCHED).last("undone")
    paths = [] if undone is None else undone["paths"]
    if not 1 <= len(paths) <= _TRIED_MOST:
        return None
    return Cause(state=_named(paths[0]), proof=Proof.UNDONE, others=tuple(paths[1:]))


def _unlisted(search: Search, name: str, party: str, symptom: str) -> Cause | None:
    """The attribute, in no registry, that heals it; None where all of them together do not."""
    heard = search.single(name, wide=())
    wide = heard.last("wide")
    left = search.parties(heard).get(party)
    if wide is None or (left is not None and shape(left) == shape(symptom)):
        return None
    needed = _narrowed(search, name, party, symptom, sorted({*wide["healed"], *wide["mended"]}))
    if not needed:
        return None
    proof = Proof.HEALED if len(needed) == 1 else Proof.HEALED_WITH_OTHERS
    first, *others = sorted(map(_named, needed), key=lambda one: ":" not in one)
    module = first.partition(":")[0]
    if len(needed) > _TRIED_MOST and all(one.startswith(f"{module}:") for one in others):
        first = f"{module}:*"  # the functions of a whole module
    return Cause(state=first, proof=proof, others=tuple(others), paths=tuple(needed))


def _narrowed(search: Search, name: str, party: str, symptom: str, needed: list[str]) -> list[str]:
    """Leaves out halves, quarters, at last one by one, as long as the rest heals.

    Ends where two rounds in a row left out nothing (then they are all needed), and after so many
    runs that a whole module's worth of attributes costs no more than a minute.
    """
    size, idle, runs = len(needed), 0, 0
    while (size := size // 2) and idle < 2 and runs < _RUNS_MOST:
        before = len(needed)
        for start in range(len(needed) - 1, -1, -size):
            part = needed[max(start - size + 1, 0) : start + 1]
            without = tuple(one for one in needed if one not in part)
            if without and not search.shows(name, party, symptom, wide=without):
                needed = list(without)
            runs += bool(without)
        idle = idle + 1 if len(needed) == before else 0
    return needed


def _named(path: str) -> str:
    """The registry's name for an attribute or setting, or the path itself."""
    return next((state.name for state in STATES if state.attribute == path), path)


def _error_of(heard: Heard, party: str) -> Mapping[str, Any] | None:
    """The error this party ended with, if it did."""
    message = heard.last({"b": "stop", "again": "again"}.get(party, "end")) or {}
    outcome = message.get("a" if party == "a" else "b") or {}
    return outcome.get("raised")
