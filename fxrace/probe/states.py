"""Reads the registry's States in this process, and tells which are off their baseline.

Values are compared by identity for functions and objects and by equality for plain values and
containers (torch replaces an empty dictionary by another one, which is no leak). A row that
ought to exist in this torch and does not resolve is reported, never passed over.
"""

from __future__ import annotations

import copy
import importlib
import re
from collections.abc import Container
from dataclasses import dataclass
from typing import Any

from fxrace.core.states import STATES
from fxrace.probe.recorder import Recorder
from fxrace.records.state import Keeping, State

_BY_VALUE = (bool, int, float, str, type(None), dict, list, set, tuple)
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


@dataclass(frozen=True, kw_only=True, slots=True)
class Snapshot:
    """The value of every State that resolved, and why the others did not."""

    values: dict[str, Any]
    unresolved: dict[str, str]


def read(state: State) -> Any:
    """The State's present value. Raises ImportError or AttributeError where it is not there."""
    module, _, path = state.attribute.partition(":")
    value: Any = importlib.import_module(module)
    for name in path.split("."):
        value = getattr(value, name)
    return value


def version() -> tuple[int, int]:
    """This torch's major and minor version."""
    import torch

    major, minor = torch.__version__.split(".")[:2]
    return int(major), int(minor)


def snapshot(*keeping: Keeping, names: Container[str] | None = None) -> Snapshot:
    """Read the States of this torch that are kept so; those that have a baseline if not told.

    It imports what they lie in; ``names`` limits it to some of them.
    """
    wanted = keeping or (Keeping.RESTORED,)
    values: dict[str, Any] = {}
    unresolved: dict[str, str] = {}
    present = version()
    for state in STATES:
        if not state.shared_in(present) or state.keeping not in wanted:
            continue
        if names is not None and state.name not in names:
            continue
        try:
            values[state.name] = kept(read(state))
        except (ImportError, AttributeError) as error:
            unresolved[state.name] = f"{state.attribute} does not resolve: {error}"
    return Snapshot(values=values, unresolved=unresolved)


def record_leaks(recorder: Recorder, before: Snapshot) -> None:
    """Emit a ``leak`` for every State that is not back at its baseline, ``blind`` for the unread.

    Call it when no region is active: then every State must be as it was.
    """
    after = snapshot(names=before.values.keys() | before.unresolved.keys())
    for name, reason in {**before.unresolved, **after.unresolved}.items():
        recorder.emit("blind", what=f"state {name}", reason=reason)
    for state in STATES:
        if state.name not in before.values or state.name not in after.values:
            continue
        was, now = before.values[state.name], after.values[state.name]
        if not same(was, now):
            recorder.emit(
                "leak",
                state=state.name,
                attribute=state.attribute,
                before=told(was),
                after=told(now),
            )


def kept(value: Any) -> Any:
    """What a container holds now, apart from what it will hold later."""
    return copy.copy(value) if isinstance(value, (dict, list, set)) else value


def same(was: Any, now: Any) -> bool:
    """True where a State is at its baseline: see above."""
    if was is now:
        return True
    return isinstance(was, _BY_VALUE) and type(was) is type(now) and bool(was == now)


def told(value: Any) -> str:
    """A value as text that is equal in every process: no addresses, functions by place."""
    code = getattr(value, "__code__", None)
    if code is not None:
        file = code.co_filename.replace("\\", "/").rpartition("site-packages/")[2]
        return f"{code.co_name} ({file}:{code.co_firstlineno})"
    return _ADDRESS.sub("", repr(value))[:200]
