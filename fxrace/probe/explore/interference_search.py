"""Which stops make a difference: one run that tries them all, then runs with one stop each.

*Screening* runs A once with B at every stop. As long as B's outcomes are allowed and it leaves
the States as it found them, the run is exact; where B differs and leaves no State changed, the
next stop still finds what it would have found, so the run goes on and stops with the same effect
are counted as one group. What A itself and the process come to at the end of such a run names no
stop: then the stops are halved until one suffices. Everything found is *confirmed* by runs with
that one stop, each in a fork of its own; only these are evidence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fxrace.probe.explore.canonical import differs_from_all
from fxrace.probe.explore.interference_course import Course, Outcome, Prepared
from fxrace.probe.explore.interference_fork import End, Heard
from fxrace.probe.explore.interference_reference import Reference, run
from fxrace.probe.operations import Reuse

B, A, QUIESCENT, AGAIN, HUNG, CRASHED = "b", "a", "quiescent", "again", "hung", "crashed"
LEFT = "left"
"""What screening saw B leave changed at a stop. No fault yet: A may put it right."""
_ROUNDS, _BEAT = 6, 8
_NUMBER = re.compile(r"\d+(\.\d+)?")

Parties = Mapping[str, str]
"""Who came out unlike running alone -> one sentence. A State that is off its baseline at the end
is a party of its own, ``quiescent:<State>``: several that leak together have several causes."""


@dataclass(kw_only=True, slots=True)
class Group:
    """Stops with one effect, by the States that were off there, as screening found them."""

    party: str
    symptom: str
    stops: dict[tuple[str, ...], list[str]] = field(default_factory=dict)

    @property
    def count(self) -> int:
        return sum(len(names) for names in self.stops.values())


@dataclass(kw_only=True, slots=True)
class Screened:
    """What screening came to. ``tried`` counts stops at which B ran to an end."""

    groups: list[Group] = field(default_factory=list)
    parties: dict[str, str] = field(default_factory=dict)
    blocked: list[str] = field(default_factory=list)
    tried: set[str] = field(default_factory=set)
    slips: int = 0


class Search:
    """One pair. ``runs`` counts forks; ``beat`` is called now and then, for the watchdog."""

    def __init__(
        self, prepared: Prepared, reference: Reference, beat: Callable[[], None] = lambda: None
    ) -> None:
        self.prepared, self.reference, self._beat = prepared, reference, beat
        self.runs = 0

    def run(self, course: Course) -> Heard:
        self.runs += 1
        if self.runs % _BEAT == 0:
            self._beat()
        return run(self.prepared, course)

    def single(self, name: str, **course: Any) -> Heard:
        """A with this one stop."""
        wanted = Course(stops=frozenset((name,)), allowed=self.reference.b, detail=True, **course)
        return self.run(wanted)

    def parties(self, heard: Heard) -> dict[str, str]:
        """Who came out unlike running alone in this run."""
        found: dict[str, str] = {}
        hung = heard.last("hung")
        if heard.end is End.CRASHED:
            return {CRASHED: f"the process died of signal {heard.signal}"}
        if hung is not None or heard.end is End.SILENT:
            who = hung["who"] if hung is not None else "nobody could say which"
            return {HUNG: f"it did not end: thread {who} stands"}
        for message in heard.messages:
            if message["is"] in ("stop", "unblocked") and "b" in message:
                self._note(found, B, message["b"], self.reference.b)
        end = heard.last("end")
        if end is None:
            return found
        self._note(found, A, end["a"], self.reference.a)
        leaked = [name for name in end["off"] if name not in self.reference.leaks]
        for name in leaked:
            found[f"{QUIESCENT}:{name}"] = f"{name} stays {end['values'][name]}"
        again = heard.last("again")
        if again is not None and not leaked:
            self._note(found, AGAIN, again["b"], self.reference.again)
        return found

    def left(self, name: str, party: str, **course: Any) -> str | None:
        """How this side still comes out wrong at this stop under this course, or None."""
        return self.parties(self.single(name, **course)).get(party)

    def shows(self, name: str, party: str, symptom: str, **course: Any) -> bool:
        """True where the same symptom is left.

        Another symptom of the same side is another cause: a compiled call that no longer meets
        the tracing flag may then meet the patched module class.
        """
        left = self.left(name, party, **course)
        return left is not None and shape(left) == shape(symptom)

    def _note(
        self, found: dict[str, str], party: str, outcome: Outcome, allowed: Sequence[Outcome]
    ) -> None:
        said = differs_from_all(outcome, allowed)
        if said is not None:
            found.setdefault(party, said)

    def screen(self, stops: Sequence[str]) -> Screened:
        """Try all these stops in as few runs as it takes."""
        screened = Screened()
        if self.prepared.b.reuse is Reuse.ONCE:
            self._one_by_one(stops, screened)
            return screened
        todo, rounds = list(stops), 0
        while todo and rounds < _ROUNDS:
            rounds += 1
            course = Course(stops=frozenset(todo), mend=True, allowed=self.reference.b)
            todo = self._hear(self.run(course), todo, screened)
        return screened

    def _one_by_one(self, stops: Sequence[str], screened: Screened) -> None:
        for name in stops:
            heard = self.single(name)
            stop = heard.last("stop") or {}
            screened.tried.add(name)
            for party, symptom in self.parties(heard).items():
                self._group(screened, party, symptom, tuple(stop.get("off", ())), name)

    def _hear(self, heard: Heard, todo: list[str], screened: Screened) -> list[str]:
        """Takes in one screening run; returns the stops that are still to be tried."""
        reached = [m["name"] for m in heard.all("at")]
        blocked = heard.last("blocked")
        for message in heard.all("stop"):
            off = tuple(message["off"])
            if "b" in message:
                said = differs_from_all(message["b"], self.reference.b) or ""
                self._group(screened, B, said, off, message["name"])
            elif message["left"]:
                left = f"B left {', '.join(message['left'])} changed"
                self._group(screened, LEFT, left, off, message["name"])
        parties = self.parties(heard)
        last = reached[-1] if reached else ""
        for bad in (HUNG, CRASHED):
            if bad in parties and last:
                self._group(screened, bad, parties[bad], (), last)
        if blocked is not None:
            self._blocked(blocked, parties, screened)
        screened.tried.update(reached)
        ended = HUNG not in parties and CRASHED not in parties
        if ended and blocked is None:
            screened.parties.update({p: s for p, s in parties.items() if p != B})
            return []
        if not last:
            return []
        rest = todo[todo.index(last) + 1 :] if last in todo else []
        return self._without_locked(rest) if blocked is not None else rest

    def _blocked(self, blocked: Mapping[str, Any], parties: Parties, screened: Screened) -> None:
        name, off = blocked["name"], tuple(blocked["off"])
        screened.blocked.append(name)
        if blocked["lock"] != "torch._dynamo.compile_lock":
            screened.slips += 1
        for party, symptom in parties.items():
            if party not in (HUNG, CRASHED):
                self._group(screened, party, symptom, off, name)

    def _without_locked(self, rest: list[str]) -> list[str]:
        """Of the points inside the same hold of the lock, the middle and the last are tried."""
        locked = [p.name for p in self.reference.points if p.locked and p.name in set(rest)]
        kept = {locked[len(locked) // 2], locked[-1]} if locked else set()
        return [name for name in rest if name not in set(locked) or name in kept]

    def _group(
        self, screened: Screened, party: str, symptom: str, off: tuple[str, ...], name: str
    ) -> None:
        key = (party, shape(symptom))
        like = (g for g in screened.groups if (g.party, shape(g.symptom)) == key)
        group = next(like, None)
        if group is None:
            group = Group(party=party, symptom=symptom)
            screened.groups.append(group)
        group.stops.setdefault(off, []).append(name)

    def halved(self, stops: Sequence[str], party: str) -> str | None:
        """One stop that suffices for this party to come out wrong, or None where it takes two."""
        stops = list(stops)
        if not self._suffices(stops, party):
            return None
        while len(stops) > 1:
            half = len(stops) // 2
            part = next((p for p in (stops[:half], stops[half:]) if self._suffices(p, party)), None)
            if part is None:
                return None
            stops = part
        return stops[0]

    def _suffices(self, stops: Sequence[str], party: str) -> bool:
        course = Course(stops=frozenset(stops), allowed=self.reference.b)
        return party in self.parties(self.run(course))


def shape(symptom: str) -> str:
    """A symptom without its numbers, for grouping within one pair."""
    return _NUMBER.sub("#", symptom)[:160]


def confirmed(search: Search, name: str, times: int = 3) -> Iterator[tuple[Heard, Parties]]:
    """Runs with this one stop; ends early where the first two show nothing."""
    silent = 0
    for _ in range(times):
        heard = search.single(name)
        parties = search.parties(heard)
        silent += not parties
        yield heard, parties
        if silent >= 2:
            return
