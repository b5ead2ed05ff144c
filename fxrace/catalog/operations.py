"""The operations that can be explored, read from their files without importing torch.

Only literal facts are read: the docstring, and ``kind``, ``cost`` and ``quick`` of the record.
"""

from __future__ import annotations

import ast
from pathlib import Path

from fxrace.catalog.source import assigned_call, flag, read, summary_of
from fxrace.records.exploration import OperationFile

_PROBE = Path(__file__).resolve().parent.parent / "probe"
OPERATIONS, STRATEGIES = _PROBE / "operations", _PROBE / "explore" / "strategies"
_RECORD = "operation"


def operations(folder: Path = OPERATIONS) -> tuple[OperationFile, ...]:
    """Every operation of the folder, by name; one that cannot be read has a ``problem``."""
    return tuple(_operation(path) for path in sorted(folder.glob("[!_]*.py")))


def strategies(folder: Path = STRATEGIES) -> tuple[str, ...]:
    """The names of the scheduler's strategies."""
    return tuple(sorted(path.stem for path in folder.glob("[!_]*.py")))


def _operation(path: Path) -> OperationFile:
    tree, problem = read(path)
    call = assigned_call(tree, _RECORD) if tree is not None else None
    if tree is None or call is None:
        reason = problem or f"assigns no module-level {_RECORD!r}"
        return OperationFile(name=path.stem, help="", problem=reason)
    return OperationFile(
        name=path.stem,
        help=summary_of(tree),
        observes=_member(call, "kind") == "OBSERVER",
        cost=_member(call, "cost").lower() or "cheap",
        quick=flag(call, "quick"),
    )


def _member(call: ast.Call, keyword: str) -> str:
    """The last name of ``keyword=Enum.MEMBER``, or an empty string."""
    for passed in call.keywords:
        if passed.arg == keyword and isinstance(passed.value, ast.Attribute):
            return passed.value.attr
    return ""
