"""What threads do to torch: one operation per file, and the folder is the registry.

An operation is the text of its file: the imports, ``prepare`` (makes a subject, single-threaded,
before any thread starts) and ``run`` (what a thread does to its subject; returns the result).
``script.py`` beside the explorer takes that same text for emitted scripts, so that what was
explored and what is handed to a reader cannot drift apart. A file holds nothing else at its top
level but ``refuse`` and the record ``operation``; its docstring is the help, its name the name.

Rules: ``prepare`` and ``run`` leave every RESTORED State as they found it, ``run`` gives equal
results in any thread, tensors are tiny. Nobody here calls ``torch._dynamo.reset()`` to get a cold
compile: a new code object (``code.replace()``) is cold for itself and warm for everybody else.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any


class Kind(str, Enum):
    """What an operation is for."""

    WORK = "work"
    OBSERVER = "observer"
    """Reads what a program can observe, and changes nothing: it is only ever run as B."""


class Reuse(str, Enum):
    """How often a subject can serve."""

    WARM = "warm"
    """One subject, many runs, equal results."""
    FRESH = "fresh"
    """Each run needs a subject of its own, prepared beforehand."""
    ONCE = "once"
    """A run leaves its mark on the process (a draw, a reset): one run in each."""


class Cost(str, Enum):
    """How much a run costs; budgets of stops follow from it and never from the clock."""

    CHEAP = "cheap"
    """Under a millisecond: stopped for at every point."""
    MEDIUM = "medium"
    """Up to 20 ms."""
    EXPENSIVE = "expensive"
    """A compile."""


def nothing() -> None:
    """The subject of an operation that needs none."""


def runs_everywhere(device_type: str) -> str | None:
    """No torch and no device is refused."""
    return None


@dataclass(frozen=True, kw_only=True, slots=True)
class Operation:
    """One file's ``operation``. ``name`` and ``help`` are filled in when it is loaded.

    ``refuse`` says why it cannot run on this torch or device type, or returns None. ``quick``
    puts it into the subset that a quick matrix runs. ``same`` compares two canonical results and
    returns None or one sentence; the default (None) is ``explore.canonical.differs``.
    """

    run: Callable[[Any], Any]
    prepare: Callable[[], Any] = nothing
    kind: Kind = Kind.WORK
    reuse: Reuse = Reuse.WARM
    cost: Cost = Cost.CHEAP
    quick: bool = False
    refuse: Callable[[str], str | None] = runs_everywhere
    same: Callable[[Any, Any], str | None] | None = None
    name: str = ""
    help: str = ""


def names() -> list[str]:
    """Every operation in the folder, sorted. Imports none of them."""
    return sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_"))


def load(name: str) -> Operation:
    """The operation of this name, or the user's at ``module:attribute``.

    A user's attribute is an ``Operation``, has one as its ``operation``, or is a callable
    without arguments. Raises LookupError with a sentence where there is none.
    """
    if ":" in name:
        return _foreign(name)
    if name not in names():
        raise LookupError(f"there is no operation {name!r}; `fxrace explore --list` names them")
    module = importlib.import_module(f"{__name__}.{name}")
    operation: Operation = module.operation
    return replace(operation, name=name, help=(module.__doc__ or "").strip())


def _foreign(name: str) -> Operation:
    """A user's callable. An import that fails is the user's error and is let through."""
    module_name, _, path = name.partition(":")
    found: Any = importlib.import_module(module_name)
    for part in path.split("."):
        if not hasattr(found, part):
            raise LookupError(f"{module_name!r} has no {path!r}")
        found = getattr(found, part)
    found = getattr(found, "operation", found)
    if isinstance(found, Operation):
        return replace(found, name=name, help=found.help or name)
    if not callable(found):
        raise LookupError(f"{name!r} is neither an Operation nor callable")
    about = (getattr(found, "__doc__", None) or name).strip()
    return Operation(run=_Call(found), cost=Cost.MEDIUM, name=name, help=about)


@dataclass(frozen=True, slots=True)
class _Call:
    """A callable without arguments, in the shape of ``run``."""

    function: Callable[[], Any]

    def __call__(self, subject: Any) -> Any:
        return self.function()
