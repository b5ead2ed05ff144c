"""Floor 3: what people look at. The folder is the registry: one format per file.

A format is a module with a top-level ``render(document) -> str``; its file name is what
``fxrace report --format`` takes. ``live`` and ``plain`` show progress and are no formats;
``view`` holds what the formats share.
"""

from __future__ import annotations

import ast
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, cast

from fxrace.errors import UnknownPart

if TYPE_CHECKING:
    from fxrace.records.document import SweepDocument

Render = Callable[["SweepDocument"], str]


def formats() -> tuple[str, ...]:
    """The names of all formats, found without importing them."""
    folder = Path(__file__).parent
    return tuple(sorted(p.stem for p in folder.glob("[!_]*.py") if _has_render(p)))


def renderer(name: str) -> Render:
    """The function that turns a sweep document into this format. Raises UnknownPart."""
    if name not in formats():
        raise UnknownPart("format", name, formats())
    return cast(Render, importlib.import_module(f"{__name__}.{name}").render)


def _has_render(path: Path) -> bool:
    tree = ast.parse(path.read_bytes())
    return any(isinstance(n, ast.FunctionDef) and n.name == "render" for n in tree.body)
