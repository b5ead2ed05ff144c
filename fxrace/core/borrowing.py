"""Two regions that borrow one State in two threads: which pairs nothing puts in an order.

A State is saved and written where its region begins and restored where it ends, so both ends
are writes. All States that one kind of region borrows are accessed by the same events; pairs
are therefore found once per kind. Of regions that lie apart, the last one that each thread has
ended is enough: if an earlier one of that thread is unordered, so is the last.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product

from fxrace.core.clocks import Clocks, clocks_of
from fxrace.core.states import STATES
from fxrace.core.timeline import Meeting, Region, meeting, regions
from fxrace.records.event import Trace
from fxrace.records.finding import Side
from fxrace.records.state import Keeping, Scope, State

# Kinds of region that hooks report; the other kinds in the registry happen inside these.
_WATCHED = frozenset(
    {"trace", "make_fx", "compile", "aot", "inductor", "triton", "cudagraph", "lazy_backward"}
    | {"checkpoint", "recompute", "rng", "hop", "flex_eager", "export", "stance", "config"}
    | {"annotate", "preserve_meta", "skip_lazy", "fake", "intermediate_hooks", "compiled_autograd"}
    | {"dispatch_mode", "non_strict"}
)
# Their States last (a random state goes on), yet the region puts back what it found.
_PUT_BACK = frozenset({"rng", "stance"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Pair:
    """Two regions of two threads that are not ordered, ``first`` entered first."""

    first: Region
    second: Region

    @property
    def how(self) -> Meeting:
        return meeting(self.first, self.second)

    @property
    def states(self) -> tuple[State, ...]:
        """What both borrowed: the States of their kind that no guard kept per thread meanwhile."""
        kept = self.first.kept & self.second.kept
        return tuple(state for state in states_of(self.first.kind) if state.name not in kept)


@cache
def states_of(kind: str) -> tuple[State, ...]:
    """The States that regions of this kind save and restore with nothing that keeps two apart.

    States of every supported torch come first: a record does not say which torch wrote it, so a
    kind that borrows nothing but States of some versions is left out.
    """
    found = [state for state in STATES if kind in _borrowers(state)]
    found.sort(key=lambda state: state.until is not None)
    return tuple(found) if found and found[0].until is None else ()


def _borrowers(state: State) -> tuple[str, ...]:
    """The kind that borrows it; where no hook sees that kind, those that it happens in too."""
    put_back = state.keeping is Keeping.RESTORED or state.borrowed_by in _PUT_BACK
    if state.lock or not put_back or state.scope is not Scope.PROCESS:
        return ()
    seen = state.borrowed_by in _WATCHED
    return (state.borrowed_by,) if seen else (state.borrowed_by, *state.also_borrowed_by)


def unordered(trace: Trace) -> Iterator[Pair]:
    """Every pair that races: it overlapped, or both threads' locks are on record.

    Two regions apart in time race only if nothing orders them, and that is known only of threads
    whose locks are in the record. Regions that overlapped need no such proof.
    """
    clocks, spans = clocks_of(trace), regions(trace)
    for pair in met(spans):
        if _races(pair, clocks):
            yield pair
    for pair in followed(spans, clocks):
        if pair.first.ident in clocks.told and pair.second.ident in clocks.told:
            yield pair


def met(spans: tuple[Region, ...]) -> Iterator[Pair]:
    """Pairs of one borrowing kind, of two threads, that were open at the same moment."""
    inside: list[Region] = []
    for second in _borrowing(spans):
        inside = [r for r in inside if r.left is None or r.left > second.entered]
        for first in inside:
            if first.kind == second.kind and first.ident != second.ident:
                yield from _not_kept(first, second)
        inside.append(second)


def followed(spans: tuple[Region, ...], clocks: Clocks) -> Iterator[Pair]:
    """Unordered pairs that lie apart: a region, and the last one each other thread had ended."""
    borrowing = _borrowing(spans)
    ends = {region.left: region for region in borrowing if region.left is not None}
    starts = {region.entered: region for region in borrowing}
    last: dict[tuple[str, int], tuple[int, Region]] = {}
    for at in sorted({*ends, *starts}):
        if at in ends:
            last[ends[at].kind, ends[at].ident] = (at, ends[at])
            continue
        second = starts[at]
        for (kind, ident), (left, first) in last.items():
            alike = kind == second.kind and ident != second.ident
            if alike and not clocks.before(left, at):
                yield from _not_kept(first, second)


def _not_kept(first: Region, second: Region) -> Iterator[Pair]:
    """The two as a pair, unless a guard kept everything they borrow."""
    pair = Pair(first=first, second=second)
    if pair.states:
        yield pair


def by_kind(pairs: Iterable[Pair]) -> dict[str, list[Pair]]:
    """Pairs by the kind of their regions."""
    found: dict[str, list[Pair]] = defaultdict(list)
    for pair in pairs:
        found[pair.first.kind].append(pair)
    return found


def side_of(region: Region, access: str) -> Side:
    """A region as one side of a finding; its stack only where the record has one."""
    return Side(
        thread=region.thread,
        region=region.kind,
        access=access,
        stack=region.stack,
        locks_held=region.locks,
    )


def lockset(pair: Pair) -> str:
    """What the locks say, as an explanation: never a verdict of its own."""
    common = [lock for lock in pair.first.locks if lock in pair.second.locks]
    if common:
        return f"both held {', '.join(common)}"
    held = [
        f"{region.thread} held {', '.join(region.locks) or 'none'}"
        for region in (pair.first, pair.second)
    ]
    return f"no lock in common: {'; '.join(held)}"


def _borrowing(spans: tuple[Region, ...]) -> tuple[Region, ...]:
    kinds = {kind for kind in {region.kind for region in spans} if states_of(kind)}
    return tuple(region for region in spans if region.kind in kinds)


def _races(pair: Pair, clocks: Clocks) -> bool:
    """True when some end of one is unordered with some end of the other."""
    ends = [[at for at in (r.entered, r.left) if at is not None] for r in (pair.first, pair.second)]
    return any(not clocks.before(min(one, other), max(one, other)) for one, other in product(*ends))
