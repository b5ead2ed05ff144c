"""Classifies a standing process. Pure: two looks and what was read beside them in, a word out.

A circle only counts when each of its threads stood still from one look to the next: a wait that
ends between them was contention. Where no circle closes, the process is called after whoever
could go on by himself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fxrace.core.stand import stack_holds, stack_waits
from fxrace.core.waits import Hold, Kind, Wait, circle, is_foreign, owned, with_device_waits
from fxrace.records.outcome import ThreadStack
from fxrace.records.stuck import Classification, Motion


@dataclass(frozen=True, kw_only=True, slots=True)
class Look:
    """All that is known of a process at the second look.

    ``waits`` and ``holds`` are what the record and the source code tell beyond the stacks, most
    trustworthy first. ``motion`` is per thread name; a thread not in it stood still.
    """

    stacks: tuple[ThreadStack, ...]
    motion: Mapping[str, Motion]
    waits: tuple[Wait, ...] = ()
    holds: tuple[Hold, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Conclusion:
    """The word, the sentence behind it, the circle (or the chain to the runner), all waits."""

    classification: Classification
    reason: str
    ring: tuple[Wait, ...]
    waits: tuple[Wait, ...]
    holds: tuple[Hold, ...]


def concluded(look: Look) -> Conclusion:
    """What the process is doing, by its waits."""
    holds = (*look.holds, *stack_holds(look.stacks))
    still = tuple(s for s in look.stacks if look.motion.get(s.thread) is not Motion.RUNS)
    names = {stack.thread for stack in still}
    named = owned((*look.waits, *stack_waits(still)), holds)
    waits = with_device_waits(tuple(wait for wait in named if wait.waiter in names), still)
    ring = circle(_certain(waits, look))
    kind, reason = (
        (Classification.DEADLOCK, "; ".join(f"{wait.waiter} {wait.told}" for wait in ring))
        if ring
        else _open(look, waits)
    )
    return Conclusion(classification=kind, reason=reason, ring=ring, waits=waits, holds=holds)


def at_rest(stacks: Iterable[ThreadStack], waits: Iterable[Wait]) -> tuple[ThreadStack, ...]:
    """The threads that wait for nobody of their own process: where an outside wait must be."""
    waiting = {wait.waiter for wait in waits}
    return tuple(s for s in stacks if s.thread not in waiting and s.frames)


def _certain(waits: tuple[Wait, ...], look: Look) -> tuple[Wait, ...]:
    """Without device edges while one of autograd's threads runs: that one may be the awaited."""
    busy = any(is_foreign(s) and look.motion.get(s.thread) is Motion.RUNS for s in look.stacks)
    return tuple(wait for wait in waits if not (busy and wait.kind is Kind.DEVICE))


def _open(look: Look, waits: tuple[Wait, ...]) -> tuple[Classification, str]:
    """The word for a process without a circle."""
    runners = [s.thread for s in look.stacks if look.motion.get(s.thread) is Motion.RUNS]
    starved = [w for w in waits if w.kind is Kind.LOCK and w.owner in runners]
    if starved:
        told = "; ".join(f"{wait.waiter} {wait.told}" for wait in starved)
        return Classification.STARVATION, f"{starved[0].owner} runs and holds on: {told}"
    if runners:
        return Classification.RUNNING, f"{', '.join(runners)} {_go(runners)} on"
    if outside := at_rest(look.stacks, waits):
        names = ", ".join(stack.thread for stack in outside)
        return Classification.EXTERNAL_WAIT, f"{names} {_stand(outside)} in native code"
    return Classification.UNKNOWN, "every thread waits for another, in no circle that can be seen"


def _go(names: list[str]) -> str:
    return "goes" if len(names) == 1 else "go"


def _stand(stacks: tuple[ThreadStack, ...]) -> str:
    return "stands" if len(stacks) == 1 else "stand"
