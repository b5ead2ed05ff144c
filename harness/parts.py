"""Loads the parts a trial is made of; the folders are the registry.

``harness/<axis>/<name>.py``, or ``ROOT/<axis>/<name>.py`` for a user's own parts, which are
loaded by path so that they need no package. The surprise: whatever a part's file does wrong
while it is imported or built becomes a ``PartBroken``, because a typing error in one locking
strategy must cost that strategy's trials and nothing else.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from fxrace.probe.part import Part
from harness.config import DEFAULT_KNOBS, Preset

RECIPES = "recipes"


class PartBroken(Exception):
    """A part cannot be used. ``axis`` and ``name`` say which; ``cause`` is what went wrong."""

    def __init__(self, axis: str, name: str, cause: BaseException | str) -> None:
        reason = cause if isinstance(cause, str) else f"{type(cause).__name__}: {cause}"
        super().__init__(reason)
        self.axis, self.name, self.reason = axis, name, reason
        if isinstance(cause, BaseException):
            self.__cause__ = cause

    @property
    def part(self) -> str:
        """``axis=name``, as the user wrote it."""
        return f"{self.axis}={self.name}"


def load(axis: str, name: str, extra_roots: Sequence[Path] = ()) -> Part:
    """The ``part`` of this axis value. Raises PartBroken, with the cause, and nothing else."""
    found = _attribute(axis, name, extra_roots, "part")
    if not isinstance(found, Part):
        raise PartBroken(axis, name, f"its 'part' is a {type(found).__name__}, not a Part")
    return found


def load_preset(name: str, extra_roots: Sequence[Path] = ()) -> Preset:
    """The ``preset`` of ``harness/recipes/<name>.py``. Raises PartBroken."""
    found = _attribute(RECIPES, name, extra_roots, "preset")
    if not isinstance(found, Preset):
        raise PartBroken(RECIPES, name, f"its 'preset' is a {type(found).__name__}, not a Preset")
    return found


def select(knobs: Mapping[str, str], extra_roots: Sequence[Path] = ()) -> dict[str, Part]:
    """The part of every axis of the harness; knobs of other axes (pressure) are not looked at."""
    chosen = {axis: knobs.get(axis, name) for axis, name in DEFAULT_KNOBS.items()}
    return {axis: load(axis, name, extra_roots) for axis, name in chosen.items()}


def make(axis: str, name: str, part: Part, *given: Any, **offers: Any) -> Any:
    """Build the live part from what its axis passes.

    ``offers`` are passed by keyword to builders that have a parameter of that name, so
    ``build(recorder)`` gets the recorder and ``build()`` stays a legal builder. Raises PartBroken.
    """
    try:
        return part.build(*given, **_wanted(part, offers))
    except Exception as error:
        raise PartBroken(axis, name, error) from error


def _wanted(part: Part, offers: Mapping[str, Any]) -> dict[str, Any]:
    try:
        names = inspect.signature(part.build).parameters
    except (TypeError, ValueError):  # some builtins and C types have no signature
        return {}
    return {name: value for name, value in offers.items() if name in names}


def _attribute(axis: str, name: str, roots: Sequence[Path], attribute: str) -> Any:
    try:
        return getattr(_module(axis, name, roots), attribute)
    except PartBroken:
        raise
    except (Exception, SystemExit) as error:
        raise PartBroken(axis, name, error) from error


def _module(axis: str, name: str, roots: Sequence[Path]) -> ModuleType:
    if not name.isidentifier():
        raise PartBroken(axis, name, "a part's name must be a Python identifier")
    builtin = Path(__file__).parent / axis / f"{name}.py"
    if builtin.is_file():
        return importlib.import_module(f"harness.{axis}.{name}")
    for root in roots:
        path = Path(root) / axis / f"{name}.py"
        if path.is_file():
            return _by_path(f"_fxrace_parts.{axis}.{name}", path)
    raise PartBroken(axis, name, f"no file {name}.py for axis {axis}")


def _by_path(module_name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(module_name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    # Dataclasses with postponed annotations look their module up here.
    sys.modules[module_name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[module_name]
        raise
    return module
