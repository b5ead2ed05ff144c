"""The lock blocks of a source file: on which lines a lock is wanted, on which it is held.

Only plain names count (``lock``, ``self.lock``, ``a.b.lock``): what a call returns has no
identity that could be found again.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

_Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef | ast.Module


@dataclass(frozen=True, kw_only=True, slots=True)
class Site:
    """Lines ``first`` to ``last`` of the function that spans ``scope``, and the lock there."""

    lock: ast.expr
    first: int
    last: int
    scope: tuple[int, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class Blocks:
    """All sites of one file. ``top_level`` are the names its module body assigns or imports."""

    wanted: tuple[Site, ...] = ()
    held: tuple[Site, ...] = ()
    scopes: tuple[tuple[int, int], ...] = ()
    top_level: frozenset[str] = frozenset()

    def wanted_at(self, line: int) -> tuple[ast.expr, ...]:
        """The locks that a thread standing on this line may be about to take, in order."""
        return self._at(self.wanted, line)

    def held_at(self, line: int) -> tuple[ast.expr, ...]:
        """The locks round this line, within its own function."""
        return self._at(self.held, line)

    def _at(self, sites: tuple[Site, ...], line: int) -> tuple[ast.expr, ...]:
        around = [scope for scope in self.scopes if scope[0] <= line <= scope[1]]
        innermost = min(around, key=lambda scope: scope[1] - scope[0], default=None)
        return tuple(
            site.lock
            for site in sites
            if site.first <= line <= site.last and site.scope == innermost
        )


def blocks(source: bytes) -> Blocks:
    """Read one file. Raises SyntaxError, ValueError."""
    tree = ast.parse(source)
    whole = (1, source.count(b"\n") + 1)
    wanted: list[Site] = []
    held: list[Site] = []
    scopes = [whole]
    for node, scope in _walk(tree, whole):
        if isinstance(node, _Scope) and not isinstance(node, ast.Module):
            scopes.append(_span(node))
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            for item in filter(_plain, (item.context_expr for item in node.items)):
                end = item.end_lineno or item.lineno
                wanted.append(Site(lock=item, first=item.lineno, last=end, scope=scope))
                last = node.body[-1].end_lineno or node.lineno
                first = max(node.body[0].lineno, end + 1)
                held.append(Site(lock=item, first=first, last=last, scope=scope))
        elif (lock := _acquired(node)) is not None:
            last = getattr(node, "end_lineno", None) or lock.lineno
            wanted.append(Site(lock=lock, first=lock.lineno, last=last, scope=scope))
    return Blocks(
        wanted=tuple(wanted),
        held=tuple(held),
        scopes=tuple(scopes),
        top_level=frozenset(_assigned(tree)),
    )


def _walk(node: ast.AST, scope: tuple[int, int]) -> Iterator[tuple[ast.AST, tuple[int, int]]]:
    """Every node with the span of the function it belongs to."""
    for child in ast.iter_child_nodes(node):
        yield child, scope
        yield from _walk(child, _span(child) if isinstance(child, _Scope) else scope)


def _span(node: ast.AST) -> tuple[int, int]:
    first = getattr(node, "lineno", 1)
    return (first, getattr(node, "end_lineno", None) or first)


def _acquired(node: ast.AST) -> ast.expr | None:
    """The lock of ``lock.acquire(...)``, or None for any other node."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    return node.func.value if node.func.attr == "acquire" and _plain(node.func.value) else None


def _plain(expression: ast.expr) -> bool:
    while isinstance(expression, ast.Attribute):
        expression = expression.value
    return isinstance(expression, ast.Name)


def _assigned(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names)
        targets: list[ast.expr] = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.AnnAssign):
            targets = [node.target]
        for target in targets:
            yield from (name.id for name in ast.walk(target) if isinstance(name, ast.Name))
