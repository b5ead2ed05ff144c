"""From the words of ``explore`` to pairs and to the settings they are explored under."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fxrace.catalog.operations import strategies
from fxrace.commands import _place
from fxrace.core.pairs import INTERFERENCE
from fxrace.errors import UnknownPart, UsageError
from fxrace.records.exploration import OperationFile
from fxrace.records.trial import Setting


def settings_of(options: Mapping[str, Any]) -> Mapping[str, Setting]:
    """What holds for every pair; part of what a pair is stored under. Raises UsageError."""
    usual = INTERFERENCE if options["bound"] is None else "exhaustive"
    strategy = options["strategy"] or usual
    known = (INTERFERENCE, "portfolio", *strategies())
    if strategy not in known:
        raise UnknownPart("strategy", strategy, known)
    if strategy == INTERFERENCE:
        if options["bound"] is not None or options["grain"] is not None:
            raise UsageError(
                "interference has one stop at grain call and takes no --bound or --grain",
                remedy="name a scheduler with --strategy, for example exhaustive",
            )
        return {"device": _place.CPU, "strategy": strategy, "budget": options["budget"]}
    return {
        "device": _place.CPU,
        "strategy": strategy,
        "grain": options["grain"] or "region",
        "bound": 2 if options["bound"] is None else options["bound"],
        "schedules": options["max_schedules"] or 1000,
        "seconds": options["max_time"] or 60.0,
        "seed": options["seed"],
    }


def chosen(
    known: Sequence[OperationFile], names: Sequence[str], *, matrix: bool, quick: bool,
    ordered: bool = True,
) -> tuple[tuple[str, str], ...]:  # fmt: skip
    """The pairs that the words on the command line mean. Raises UsageError.

    ``ordered``: who is stopped matters. A scheduler stops both, so one order is enough for it.
    """
    usable = {one.name: one for one in known if one.problem is None}
    for name in names:
        if ":" not in name and name not in usable:
            problem = next((one.problem for one in known if one.name == name), None)
            if problem:
                raise UsageError(f"the operation {name!r} cannot be used: {problem}")
            raise UnknownPart("operation", name, tuple(usable))
    if matrix or quick:
        picked = names or [one.name for one in usable.values() if one.quick or not quick]
        workers = [n for n in picked if n not in usable or not usable[n].observes]
        return (
            _once((a, b) for a in workers for b in picked)
            if not ordered
            else tuple((a, b) for a in workers for b in picked)
        )
    if len(names) != 2:
        raise UsageError(
            f"explore takes two operations, not {len(names)}",
            remedy="name two, or use --matrix for all pairs, or --list to see what there is",
        )
    both = [(names[0], names[1]), (names[1], names[0])]
    pairs = [pair for pair in both if pair[0] not in usable or not usable[pair[0]].observes]
    return tuple(dict.fromkeys(pairs)) if ordered else _once(both)


def _once(pairs: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Each pair in the first of its two orders."""
    found: dict[frozenset[str], tuple[str, str]] = {}
    for pair in pairs:
        found.setdefault(frozenset(pair), pair)
    return tuple(found.values())


def listing(known: Sequence[OperationFile]) -> str:
    width = max(len(one.name) for one in known)
    lines = [
        f"{'*' if one.quick else ' '} {one.name:<{width}}  "
        f"{'observes: ' if one.observes else ''}{one.problem or one.help}"
        for one in known
    ]
    return "\n".join((*lines, "* = in the quick matrix"))
