"""The text of an operation, as it goes into a script: imports, ``prepare`` and ``run``.

Taken from the operation's own file, so that what was explored and what a reader runs cannot drift
apart. Annotations, docstrings and whatever belongs to fxrace are left out; names at the top of
the file get a suffix, so that two operations fit into one script.
"""

from __future__ import annotations

import ast
import importlib.util
from dataclasses import dataclass
from pathlib import Path

_OURS = ("fxrace", "__future__", "typing", "collections.abc")
_LONGEST = 100
_RECORD = ("operation", "refuse")
OPERATIONS = "fxrace.probe.operations"


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """``imports`` and ``body`` are lines of code (``tight``: the same in fewer); ``prepare`` and
    ``run`` are expressions: what makes a subject, and what is called with one.
    """

    name: str
    imports: tuple[str, ...]
    body: tuple[str, ...]
    tight: tuple[str, ...]
    prepare: str
    run: str


def source_of(name: str, suffix: str) -> Source:
    """Of an operation in the folder, or of a user's ``module:attribute`` without arguments.

    Raises LookupError where there is no such file.
    """
    if ":" in name:
        module, _, path = name.partition(":")
        return Source(
            name=name,
            imports=(f"import {module}",),
            body=(),
            tight=(),
            prepare="None",
            run=f"(lambda _: {module}.{path}())",
        )
    found = importlib.util.find_spec(f"{OPERATIONS}.{name}")
    if found is None or not found.origin:
        raise LookupError(f"there is no operation {name!r}")
    return read(name, Path(found.origin).read_text(encoding="utf-8"), suffix)


def read(name: str, text: str, suffix: str) -> Source:
    """The same of a file's text."""
    tree = ast.parse(text)
    imports = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
    rest = [node for node in tree.body if not isinstance(node, (ast.Import, ast.ImportFrom))]
    kept = [node for node in rest if not _is_docstring(node) and not set(_names(node)) & {*_RECORD}]
    own = {one: f"{one}_{suffix}" for node in kept for one in _names(node)}
    used = {node.id for one in kept for node in ast.walk(one) if isinstance(node, ast.Name)}
    bare: list[ast.stmt] = [_Renamed(own).visit(node) for node in kept]
    return Source(
        name=name,
        imports=tuple(ast.unparse(node) for node in imports if _wanted(node, used)),
        body=tuple(line for node in bare for line in _lines(node)),
        tight=tuple(line for node in bare for line in _lines(_as_lambda(node))),
        prepare=f"{own['prepare']}()" if "prepare" in own else "None",
        run=own["run"],
    )


def _lines(node: ast.stmt) -> list[str]:
    text = ast.unparse(ast.fix_missing_locations(node))
    return [line for line in text.split("\n") if line.strip()]


def _as_lambda(node: ast.stmt) -> ast.stmt:
    """A function that only returns something, as an assignment of one line."""
    if not isinstance(node, ast.FunctionDef) or node.decorator_list or len(node.body) != 1:
        return node
    (only,) = node.body
    if not isinstance(only, ast.Return) or only.value is None:
        return node
    value = ast.Lambda(args=node.args, body=only.value)
    line = ast.Assign(targets=[ast.Name(id=node.name, ctx=ast.Store())], value=value)
    return line if len(_lines(line)[0]) <= _LONGEST else node


def _wanted(node: ast.stmt, used: set[str]) -> bool:
    """An import of something else than ours. Plain imports stay: they may have effects."""
    if isinstance(node, ast.ImportFrom):
        module = node.module or ""
        return not module.startswith(_OURS) and any(
            (a.asname or a.name) in used for a in node.names
        )
    assert isinstance(node, ast.Import)
    return not any(alias.name.startswith(_OURS) for alias in node.names)


def _names(node: ast.stmt) -> list[str]:
    """What a statement at the top of a file defines."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else []
    if isinstance(node, ast.AnnAssign):
        targets = [node.target]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _is_docstring(node: ast.stmt) -> bool:
    value = getattr(node, "value", None)
    return (
        isinstance(node, ast.Expr)
        and isinstance(value, ast.Constant)
        and isinstance(value.value, str)
    )


class _Renamed(ast.NodeTransformer):
    """Own names get their suffix; annotations and docstrings go."""

    def __init__(self, names: dict[str, str]) -> None:
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = self._names.get(node.id, node.id)
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self._defined(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return self._defined(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        self.generic_visit(node)
        if node.value is None:
            return node
        return ast.Assign(targets=[node.target], value=node.value)

    def _defined(self, node: ast.FunctionDef | ast.ClassDef) -> ast.AST:
        node.name = self._names.get(node.name, node.name)
        node.body = [one for one in node.body if not _is_docstring(one)] or [ast.Pass()]
        self.generic_visit(node)
        return node
