"""Synthetic explorations: a matrix with every kind of cell."""

from __future__ import annotations

import itertools
from dataclasses import replace

from fxrace.core.interval import wilson
from fxrace.records.document import FindingRow
from fxrace.records.exploration import ExploreDocument, PairRow, PairVerdict
from fxrace.records.finding import Side, Tier, Value
from tests.unit.render import documents

A = ("symbolic_trace", "make_fx", "compile_cold_eager", "export", "checkpoint_reentrant")
B = ("module_call", "compile_warm", "is_compiling", "autocast", "deepcopy", "symbolic_trace")


def pair(number: int, a: str, b: str, verdict: PairVerdict, **changes: object) -> PairRow:
    values: dict[str, object] = {
        "a": a, "b": b, "grain": "call", "strategy": "interference", "points": 311, "stopped": 311,
        "schedules": 330, "preemption_bound": 1, "exhausted": True, "slips": 0, "blocked": 0,
        "differences": 0, "verdict": verdict, "reason": "", "findings": (), "duration_s": 1.4,
        "digest": f"{number:016x}",
    }  # fmt: skip
    return PairRow(**{**values, **changes})  # type: ignore[arg-type]


def cause(number: int, pairs: tuple[str, ...], **changes: object) -> FindingRow:
    values: dict[str, object] = {
        "fingerprint": f"{number:012x}",
        "title": "the patched nn.Module.__call__ diverts another thread's module call",
        "pattern": "interference",
        "tier": Tier.FAILURE,
        "state": "fx.module_call",
        "hazard": None,
        "sides": (
            Side(thread="A", region="trace", access="stopped at Tracer.create_arg#1",
                 stack=documents.STACK_A, locks_held=("compile_lock",)),
            Side(thread="B", region="", access="module_call", stack=documents.STACK_B),
        ),
        "symptoms": ("NameError: module is not installed as a submodule", "a graph with 2 nodes"),
        "value": Value(before="Module.__call__", during="module_call_wrapper", after=""),
        "token": "fxr1:ab12:2:0:cafe:07",
        "replay": "fxrace replay fxr1:ab12:2:0:cafe:07",
        "repro": "fxrace-out/repro-000000000001.py",
        "reliability": wilson(20, 20),
        "remedy": "one lock round every trace and every module call",
        "references": ("pytorch/pytorch#187589",),
        "trials": pairs,
    }  # fmt: skip
    return FindingRow(**{**values, **changes})  # type: ignore[arg-type]


def exploration() -> ExploreDocument:
    """30 pairs, three causes; every verdict occurs."""
    pairs, seen = [], {0: [], 1: [], 2: []}  # type: ignore[var-annotated]
    for number, (a, b) in enumerate(itertools.product(A, B)):
        row = pair(number, a, b, PairVerdict.SAFE)
        if number % 7 == 1:
            which = number % 3
            seen[which].append(row.digest)
            row = replace(row, verdict=PairVerdict.FINDING, differences=76,
                          findings=(f"{which:012x}",))  # fmt: skip
        elif number % 11 == 3:
            row = replace(row, verdict=PairVerdict.BLOCKED, blocked=311)
        elif number % 13 == 5:
            row = replace(row, verdict=PairVerdict.INCONCLUSIVE, reason="a alone is not the same")
        elif number % 5 == 4:
            row = replace(row, exhausted=False, stopped=40)
        pairs.append(row)
    causes = tuple(cause(n, tuple(digests)) for n, digests in seen.items())
    return document(tuple(pairs), causes)


def document(
    pairs: tuple[PairRow, ...], findings: tuple[FindingRow, ...] = (), **changes: object
) -> ExploreDocument:
    values: dict[str, object] = {
        "schema": "fxrace.explore", "schema_version": 1, "run": "7",
        "environment": documents.environment(), "settings": {"grain": "call"},
        "operations": {name: "what it does" for name in dict.fromkeys((*A, *B))},
        "pairs": pairs, "findings": findings, "blind": (("sys.settrace", "taken"),),
        "interrupted": False, "report": None,
    }  # fmt: skip
    return ExploreDocument(**{**values, **changes})  # type: ignore[arg-type]
