"""Floor 3: what people look at. The folder is the registry: one format per file.

A format is a module with a top-level ``render(document) -> str``, or ``render_traces(document,
recorded) -> str`` where it is drawn from the events of trials; its file name is what
``fxrace report --format`` takes. The surprise: a format of the same name in ``exploration`` is
used for explorations; where there is none, the one here takes both kinds of document.
``live`` and ``plain`` show progress and are no formats; ``view`` holds what the formats share.
"""

from __future__ import annotations

import ast
import importlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from fxrace.errors import UnknownPart

if TYPE_CHECKING:
    from fxrace.records.document import SweepDocument
    from fxrace.records.exploration import ExploreDocument
    from fxrace.render.perfetto import Recorded

Render = Callable[["SweepDocument"], str]
RenderExploration = Callable[["ExploreDocument"], str]
RenderTraces = Callable[["SweepDocument", Sequence["Recorded"]], str]
FOLDER = Path(__file__).parent
_DOCUMENT, _TRACES = "render", "render_traces"


def formats() -> tuple[str, ...]:
    """The names of all formats, found without importing them."""
    return tuple(sorted((*_named(_DOCUMENT), *_named(_TRACES))))


def trace_formats() -> tuple[str, ...]:
    """Those of them that are drawn from what trials recorded, not from the document."""
    return _named(_TRACES)


def renderer(name: str) -> Render:
    """The function that turns a sweep document into this format. Raises UnknownPart."""
    return cast(Render, _function(name, _DOCUMENT))


def exploration_renderer(name: str) -> RenderExploration:
    """The same for the document of an exploration. Raises UnknownPart."""
    if _defines(FOLDER / "exploration" / f"{name}.py", _DOCUMENT) and name in _named(_DOCUMENT):
        own = importlib.import_module(f"{__name__}.exploration.{name}")
        return cast(RenderExploration, own.render)
    return cast(RenderExploration, _function(name, _DOCUMENT))


def trace_renderer(name: str) -> RenderTraces:
    """The function that draws this format from recorded trials. Raises UnknownPart."""
    return cast(RenderTraces, _function(name, _TRACES))


def _function(name: str, function: str) -> object:
    if name not in _named(function):
        raise UnknownPart("format", name, _named(function))
    return getattr(importlib.import_module(f"{__name__}.{name}"), function)


def _named(function: str) -> tuple[str, ...]:
    paths = FOLDER.glob("[!_]*.py")
    return tuple(sorted(path.stem for path in paths if _defines(path, function)))


def _defines(path: Path, function: str) -> bool:
    if not path.is_file():
        return False
    tree = ast.parse(path.read_bytes())
    return any(isinstance(n, ast.FunctionDef) and n.name == function for n in tree.body)
