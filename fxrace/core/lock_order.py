"""In which order threads take locks: one edge for "took B while it held A", with its witness.

Read from ``sync`` acquire and release of what "lock", from ``compile`` regions (which hold
compile_lock), and from ``lock`` wait: a thread that waits for B while it holds A shows the order
although it may never get B. A thread that takes a lock again shows nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, product

from fxrace.core.timeline import HeldLocks
from fxrace.records.event import Event, Trace

LONGEST = 4
WITNESSES = 8


@dataclass(frozen=True, kw_only=True, slots=True)
class Order:
    """``thread`` took ``then`` while it held ``held`` and, besides, ``gates``."""

    thread: str
    ident: int
    held: str
    then: str
    gates: frozenset[str]


def inversions(trace: Trace) -> tuple[tuple[Order, ...], ...]:
    """Circles of orders that could close: every edge by another thread, no gate in common.

    A lock that all of them held anyway (a gate) keeps the circle open, and one thread alone
    cannot wait for itself.
    """
    edges: dict[tuple[str, str], list[Order]] = defaultdict(list)
    for order in _orders(trace):
        known = edges[order.held, order.then]
        if order not in known and len(known) < WITNESSES:
            known.append(order)
    found = []
    for ring in _rings(edges):
        choices = product(*(edges[edge] for edge in zip(ring, (*ring[1:], ring[0]), strict=True)))
        chosen = next((c for c in islice(choices, 4096) if _can_close(c)), None)
        if chosen is not None:
            found.append(chosen)
    return tuple(found)


def _orders(trace: Trace) -> Iterator[Order]:
    locks = HeldLocks()
    for event in trace.events:
        before = locks.of(event.ident)
        then = locks.see(event) or _awaited(event)
        if then is None or then in before:
            continue
        for held in before:
            yield Order(
                thread=event.thread,
                ident=event.ident,
                held=held,
                then=then,
                gates=frozenset(before) - {held},
            )


def _awaited(event: Event) -> str | None:
    waits = event.kind == "lock" and event.data.get("edge") == "wait"
    return str(event.data.get("lock")) if waits else None


def _rings(edges: dict[tuple[str, str], list[Order]]) -> Iterator[tuple[str, ...]]:
    """Simple circles of at most LONGEST locks, each once, from its smallest name on."""
    follows: dict[str, list[str]] = defaultdict(list)
    for held, then in sorted(edges):
        follows[held].append(then)
    paths: list[tuple[str, ...]] = [(name,) for name in sorted(follows)]
    while paths:
        path = paths.pop(0)
        for then in follows.get(path[-1], ()):
            if then == path[0] and len(path) > 1:
                yield path
            elif then > path[0] and then not in path and len(path) < LONGEST:
                paths.append((*path, then))


def _can_close(orders: tuple[Order, ...]) -> bool:
    threads = {order.ident for order in orders}
    return len(threads) == len(orders) and not frozenset.intersection(*(o.gates for o in orders))
