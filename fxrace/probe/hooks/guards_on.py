"""fxrace's own guards: which are on, what they keep per thread, and who waits for their lock.

While a guard keeps a State per thread nobody can race on it, however regions overlap. A thread that
waits for ``one_owner`` cannot come, whoever holds it: Dynamo's lock tells of itself, but traces,
exports and lazy backward compiles take the guard's directly.
"""

from __future__ import annotations

from fxrace.probe.hooks import Detach
from fxrace.probe.participants import participants
from fxrace.probe.watching import Watching

KNOWN = "any torch: the guards are fxrace's own"
AFTER = "fxrace.guards._registry"
NAME = "fxrace.guards.one_owner"


def attach(watching: Watching) -> Detach:
    from fxrace.guards import _registry
    from fxrace.guards._owner import Owner

    def tell(name: str, on: bool) -> None:  # noqa: FBT001 - the registry calls it so
        keeps = list(_registry.load(name).keeps)
        edge = "on" if on else "off"
        watching.recorder.emit("guard", edge=edge, guard=name, keeps=keeps)

    for name in _registry.attached():
        tell(name, on=True)
    _registry.observers.append(tell)
    before = Owner.waits
    Owner.waits = staticmethod(lambda: participants.waiting(NAME))

    def detach() -> None:
        Owner.waits = before
        _registry.observers.remove(tell)

    return detach
