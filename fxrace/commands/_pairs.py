"""From the words of ``explore`` to pairs and to the settings they are explored under."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from fxrace import guards
from fxrace.catalog.operations import strategies
from fxrace.commands import _place
from fxrace.core.pairs import INTERFERENCE
from fxrace.errors import UnknownPart, UsageError
from fxrace.records import wire
from fxrace.records.exploration import ExploreDocument, OperationFile, PairVerdict
from fxrace.records.trial import Setting


def settings_of(options: Mapping[str, Any]) -> Mapping[str, Setting]:
    """What holds for every pair; part of what a pair is stored under. Raises UsageError."""
    for name in options["guarded"]:
        guards.load(name)
    if options["guarded"] and options["scripts"]:
        raise UsageError("a script shows what happens without a guard", remedy="leave out --guard")
    under = {"guard": ",".join(options["guarded"])} if options["guarded"] else {}
    return {**_strategy(options), **under}


def _strategy(options: Mapping[str, Any]) -> Mapping[str, Setting]:
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


def wanted(
    known: Sequence[OperationFile], options: Mapping[str, Any], *, ordered: bool
) -> tuple[tuple[str, str], ...]:
    """The pairs to explore, named or taken from a document. Raises UsageError."""
    names, matrix, quick = options["names"], options["matrix"], options["quick"]
    if options["failed_in"] is None:
        return chosen(known, names, matrix=matrix, quick=quick, ordered=ordered)
    if names or matrix or quick:
        raise UsageError("--failed-in says which pairs: leave out names, --matrix and --quick")
    pairs = _failed_in(options["failed_in"])
    chosen(known, tuple({name for pair in pairs for name in pair}), matrix=True, quick=False)
    return pairs


def _failed_in(path: Path) -> tuple[tuple[str, str], ...]:
    try:
        document = wire.decode(ExploreDocument, path.read_bytes())
    except (msgspec.DecodeError, OSError) as error:
        raise UsageError(f"{path} is no document of explore --json: {error}") from error
    failed = [(row.a, row.b) for row in document.pairs if row.verdict is PairVerdict.FINDING]
    if not failed:
        raise UsageError(f"no pair differs in {path}")
    return tuple(failed)


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
