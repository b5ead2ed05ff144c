"""After the compile lock is won the cache is looked up again: N threads compile a function once.

Dynamo looks its cache up before it waits for the lock and never again, so threads that call one
cold function compile it one after the other until its recompile limit is used up. The guard
``one_owner``, by which more threads wait, has this in it.
"""

from __future__ import annotations

from fxrace.guards._contract import Guard
from fxrace.guards._second_look import attach_second_look

CURES = (
    "dynamo-duplicate-compile",
    "dynamo-limit-exhausted-by-threads",
    "dynamo-fullgraph-limit-by-threads",
    "dynamo-flex-dense-by-threads",
)
LEFT = (
    "Threads in different modes (grad, autocast, default device) need a graph each.",
    "A program with more shapes than the recompile limit exhausts it without any thread.",
)

guard = Guard(
    cures=CURES,
    cannot_cure=(
        *LEFT,
        "Waiting for the lock takes as long as before; only the second compile is saved.",
    ),
    attach=attach_second_look,
)
