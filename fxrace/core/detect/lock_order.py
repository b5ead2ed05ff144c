"""T3: threads take the same locks in opposite orders: a deadlock that has not happened yet.

Nothing need have waited. Silent where one lock was always held round both orders, and where one
thread alone takes both orders: neither can lock up.
"""

from __future__ import annotations

from fxrace.core.detect import Detector
from fxrace.core.evidence import Evidence
from fxrace.core.fingerprint import fingerprint
from fxrace.core.lock_order import Order, inversions
from fxrace.records.finding import Finding, Side, Tier


def find(evidence: Evidence) -> tuple[Finding, ...]:
    """One finding per circle of locks."""
    return tuple(_finding(orders) for orders in inversions(evidence.trace))


def _finding(orders: tuple[Order, ...]) -> Finding:
    locks = tuple(order.held for order in orders)
    told = tuple(f"{o.thread} takes {o.then} while it holds {o.held}" for o in orders)
    return Finding(
        fingerprint=fingerprint(Tier.RACE, state=None, key=("lock order", *sorted(locks))),
        title=f"locks taken in opposite orders, which can deadlock: {', '.join(sorted(locks))}",
        tier=Tier.RACE,
        state=None,
        hazard=None,
        sides=tuple(
            Side(
                thread=order.thread,
                region="lock",
                access=text,
                locks_held=(order.held, *sorted(order.gates)),
            )
            for order, text in zip(orders, told, strict=True)
        ),
        symptoms=told,
    )


detector = Detector(find=find)
