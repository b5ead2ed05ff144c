"""What went wrong in a schedule, and its one cause: from States and regions, never from texts.

Two traces that overlap raise in one thread, leave three States behind and spoil the other's
graph: whichever of it a schedule shows, the cause is that two ``trace`` regions met. So where two
regions of a kind met, that kind names the cause, by the State that stands for it on every torch.
Where one region met a thread that was in none, the State that surfaced or stayed behind does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from fxrace.core.borrowing import states_of
from fxrace.core.fingerprint import fingerprint, site
from fxrace.core.frames import frames_of, is_torch
from fxrace.core.states import STATES, by_name, surfaced_at
from fxrace.probe.explore.played import Deviation, End, Ended, Played
from fxrace.records.finding import Tier
from fxrace.records.state import State

NONE = "none"
_PASSIVE = frozenset({"backward", "checkpoint", "config"})
Same = Callable[[Any, Any], bool]


@dataclass(frozen=True, kw_only=True, slots=True)
class Symptom:
    """One way it showed. ``kind``: raised | wrong | left | deadlock | standing | endless | lost."""

    kind: str
    thread: str
    what: str
    tier: Tier


@dataclass(frozen=True, kw_only=True, slots=True)
class Cause:
    """One cause with every symptom seen so far. ``states`` are those it was seen in."""

    fingerprint: str
    state: str | None
    regions: tuple[str, str]
    states: tuple[str, ...]
    symptoms: tuple[Symptom, ...]

    @property
    def tier(self) -> Tier:
        return min((one.tier for one in self.symptoms), key=lambda tier: tier.value)


def equal(one: Any, other: Any) -> bool:
    return bool(one == other)


def cause_of(played: Played, reference: Sequence[Ended], same: Same = equal) -> Cause | None:
    """The cause of what differs from running alone, None where nothing does.

    ``reference`` is how each body ended alone; a body that fails alone is not blamed for it.
    """
    symptoms = tuple(_symptoms(played, reference, same))
    if not symptoms:
        return None
    states = tuple(_concerned(played, reference))
    overlaps = overlapping(played)
    kind = _kind(states, overlaps)
    regions = _met(kind, overlaps)
    elected = next(iter((*(states_of(kind) if kind == regions[1] else ()), *states)), None)
    state = None if elected is None else elected.name
    inside = [region for region in regions if region != NONE]
    key = () if state or inside == [kind, kind] else _key(played, reference)
    return Cause(
        fingerprint=fingerprint(Tier.FAILURE, state=state, regions=inside, key=key),
        state=state,
        regions=regions,
        states=tuple(one.name for one in states),
        symptoms=symptoms,
    )


def joined(causes: Iterable[Cause]) -> tuple[Cause, ...]:
    """One per fingerprint, with all symptoms and States, in the order first seen.

    A cause without a State goes to the only one that has a State and the same regions: it is
    what else came of that.
    """
    found: dict[str, Cause] = {}
    for cause in causes:
        known = found.get(cause.fingerprint)
        found[cause.fingerprint] = cause if known is None else _with(known, cause)
    for cause in [one for one in found.values() if one.state is None]:
        homes = [one for one in found.values() if one.state and one.regions == cause.regions]
        if len(homes) == 1:
            found[homes[0].fingerprint] = _with(homes[0], cause)
            del found[cause.fingerprint]
    return tuple(found.values())


def _with(known: Cause, cause: Cause) -> Cause:
    return replace(
        known,
        states=tuple(dict.fromkeys((*known.states, *cause.states))),
        symptoms=tuple(dict.fromkeys((*known.symptoms, *cause.symptoms))),
    )


def overlapping(played: Played) -> Counter[tuple[str, str]]:
    """Pairs of regions (sorted kinds, ``none`` for outside) two threads were in at one step."""
    inside: dict[int, list[str]] = {number: [] for number in range(len(played.names))}
    begun: set[int] = set()
    found: Counter[tuple[str, str]] = Counter()
    for step in played.steps:
        if step.current is not None:
            _moved(inside[step.current], step.at)
        begun.add(step.chosen)
        for one, other in combinations(sorted(begun), 2):
            kinds = sorted(inside[n][-1] if inside[n] else NONE for n in (one, other))
            if kinds != [NONE, NONE]:
                found[kinds[0], kinds[1]] += 1
    return found


def _moved(stack: list[str], at: str) -> None:
    kind, _, edge = at.partition("#")[0].partition(":")
    if edge == "enter" and kind not in _PASSIVE:
        stack.append(kind)
    elif edge == "exit" and kind in stack:
        stack.reverse()
        stack.remove(kind)
        stack.reverse()
    elif at == "end":
        stack.clear()


def _symptoms(played: Played, reference: Sequence[Ended], same: Same) -> Iterable[Symptom]:
    for ended, alone in zip(played.ended, reference, strict=True):
        if ended.error is not None and alone.error is None:
            yield Symptom(
                kind="raised", thread=ended.thread, what=_raised(ended), tier=Tier.FAILURE
            )
        elif ended.returned and alone.returned and not same(ended.result, alone.result):
            yield Symptom(
                kind="wrong",
                thread=ended.thread,
                what="another result than alone",
                tier=Tier.SILENT_WRONG,
            )
    for one in played.deviations:
        yield Symptom(kind="left", thread="process", what=_left(one), tier=Tier.LEAK)
    if played.end is not End.FINISHED:
        what = "; ".join(played.circle) or ", ".join(slip.what for slip in played.slips)
        what = what or played.drift
        yield Symptom(kind=played.end.value, thread="process", what=what, tier=Tier.FAILURE)


def _raised(ended: Ended) -> str:
    frames = frames_of((ended.error or {}).get("frames", ()))
    torch = [frame for frame in frames if is_torch(frame)]
    place = (torch or list(frames))[-1:]
    where = f" in {place[0].function}" if place else ""
    return f"{(ended.error or {}).get('type')}{where}"


def _left(one: Deviation) -> str:
    return f"{one.attribute} is {one.after}"


def _concerned(played: Played, reference: Sequence[Ended]) -> list[State]:
    """Registry rows: left off their baseline, or known to show where something was raised."""
    names = [one.state for one in played.deviations]
    for ended, alone in zip(played.ended, reference, strict=True):
        if ended.error is not None and alone.error is None:
            for link in (ended.error, *ended.error.get("causes", ())):
                for frame in frames_of(link.get("frames", ())):
                    state = surfaced_at(frame.file, frame.function)
                    names += [state.name] if state else []
    found = [by_name(name) for name in dict.fromkeys(names)]
    return sorted((one for one in found if one is not None), key=STATES.index)


def _kind(states: Sequence[State], overlaps: Counter[tuple[str, str]]) -> str:
    """The kind of region whose States are concerned; else the one that overlapped most."""
    kinds = Counter(state.borrowed_by for state in states)
    if kinds:
        return kinds.most_common(1)[0][0]
    both = [pair for pair, _ in overlaps.most_common() if NONE not in pair]
    return both[0][0] if both else ""


def _met(kind: str, overlaps: Counter[tuple[str, str]]) -> tuple[str, str]:
    """What met: two of that kind if they did, else what else met it."""
    if (kind, kind) in overlaps:
        return kind, kind
    with_it = sorted(pair for pair in overlaps if kind in pair)
    full = [pair for pair in with_it if NONE not in pair]
    pair = next(iter((*full, *with_it)), (kind or NONE, NONE))
    other = pair[1] if pair[0] == kind else pair[0]
    return kind or NONE, other


def _key(played: Played, reference: Sequence[Ended]) -> tuple[str, ...]:
    """Where no State and no meeting names it: the place of the error, or the locks."""
    for ended, alone in zip(played.ended, reference, strict=True):
        if ended.error is not None and alone.error is None:
            return site(frames_of(ended.error.get("frames", ())))
    locks = sorted({block.lock for block in played.blocks} | {slip.what for slip in played.slips})
    return (played.end.value, *locks)
