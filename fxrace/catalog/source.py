"""Reads single facts out of a Python file without running it.

Only literal, module-level facts count: whatever needs evaluating belongs to the trial process.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def read(path: Path) -> tuple[ast.Module | None, str | None]:
    """The parsed file, or None and one sentence on why it cannot be read."""
    try:
        return ast.parse(path.read_bytes(), filename=str(path)), None
    except SyntaxError as error:
        return None, f"syntax error in line {error.lineno}: {error.msg}"
    except (OSError, ValueError) as error:
        return None, f"cannot be read: {error}"


def summary_of(tree: ast.Module) -> str:
    """The first line of the module's docstring, or an empty string."""
    lines = (ast.get_docstring(tree) or "").splitlines()
    return lines[0].strip() if lines else ""


def string_constant(tree: ast.Module, name: str) -> str | None:
    """The string that the module assigns to this name, or None."""
    for value in _assigned(tree, name):
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            return value.value
    return None


def literal(tree: ast.Module, name: str) -> Any:
    """The literal value that the module assigns to this name, or None when it assigns none.

    Raises ValueError for a value that would have to be computed.
    """
    for value in _assigned(tree, name):
        return ast.literal_eval(value)
    return None


def assigned_call(tree: ast.Module, name: str) -> ast.Call | None:
    """The call whose result the module assigns to this name (``part = Part(...)``), or None."""
    return next((v for v in _assigned(tree, name) if isinstance(v, ast.Call)), None)


def flag(call: ast.Call, keyword: str) -> bool:
    """True when the call passes this keyword as the literal True."""
    return any(
        k.arg == keyword and isinstance(k.value, ast.Constant) and k.value.value is True
        for k in call.keywords
    )


def defines(tree: ast.Module, function: str) -> bool:
    """True when the module defines a function of this name at its top level."""
    return any(isinstance(n, ast.FunctionDef) and n.name == function for n in tree.body)


def _assigned(tree: ast.Module, name: str) -> Iterator[ast.expr]:
    for node in tree.body:
        if isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            targets, value = [node.target], node.value
        else:
            continue
        if any(isinstance(t, ast.Name) and t.id == name for t in targets):
            yield value
