"""Which guards there are, which are installed, and how often each is wanted.

The folder is the registry: a public file is a guard. One guard is attached once however many
handles there are, and goes with the last of them.
"""

from __future__ import annotations

import importlib
import pkgutil
import threading
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from fxrace.errors import UnknownPart
from fxrace.guards._contract import Detach, Guard, GuardRefused, Unneeded, version


def available() -> dict[str, str]:
    """Every guard and the first line of its help. Imports no torch."""
    package = importlib.import_module("fxrace.guards")
    names = [found.name for found in pkgutil.iter_modules(package.__path__)]
    return {name: _help(name) for name in sorted(names) if not name.startswith("_")}


def load(name: str) -> Guard:
    """The guard of this name. Raises UnknownPart."""
    known = available()
    if name not in known:
        raise UnknownPart("guard", name, tuple(known))
    found = importlib.import_module(f"fxrace.guards.{name}").guard
    assert isinstance(found, Guard), f"{name}: 'guard' is no Guard"
    return found


def _help(name: str) -> str:
    text = importlib.import_module(f"fxrace.guards.{name}").__doc__ or ""
    return text.strip().splitlines()[0] if text.strip() else ""


@dataclass(kw_only=True, slots=True)
class _Held:
    """One attached guard. ``detach`` is None where this torch does not need it."""

    detach: Detach | None
    reason: str
    options: dict[str, Any]
    count: int = 1


_lock = threading.RLock()
_held: dict[str, _Held] = {}
#: Told (name, True) when a guard goes on and (name, False) when it is off, for an observer to join.
observers: list[Callable[[str, bool], None]] = []


def take(name: str, options: dict[str, Any]) -> str:
    """Attach the guard, or count one more who wants it. Returns why it does nothing, or ``""``."""
    guard = load(name)
    with _lock:
        held = _held.get(name)
        if held is None:
            held = _held[name] = _attached(name, guard, options)
            if held.detach is not None:
                _tell(name, on=True)
        elif options and options != held.options:
            raise GuardRefused(
                f"guard {name} is installed with other options: {held.options}",
                remedy="remove it first, or install it without options",
            )
        else:
            held.count += 1
        return held.reason


def drop(name: str) -> None:
    """One less who wants it; the last one takes it off."""
    with _lock:
        held = _held[name]
        held.count -= 1
        if held.count:
            return
        del _held[name]
        if held.detach is not None:
            _tell(name, on=False)
            held.detach()


def installed() -> dict[str, int]:
    """Guards that are on (or counted as not needed here), and how many handles hold each."""
    with _lock:
        return {name: held.count for name, held in _held.items()}


def attached() -> tuple[str, ...]:
    """Guards that have changed something in this torch."""
    with _lock:
        return tuple(name for name, held in _held.items() if held.detach is not None)


def _tell(name: str, *, on: bool) -> None:
    for observer in tuple(observers):
        observer(name, on)


def _attached(name: str, guard: Guard, options: dict[str, Any]) -> _Held:
    try:
        _check_version(guard)
        return _Held(detach=guard.attach(**options), reason="", options=options)
    except Unneeded as reason:
        return _Held(detach=None, reason=str(reason), options=options)
    except GuardRefused as error:
        raise GuardRefused(
            f"guard {name} does not fit here: {error.message}", remedy=error.remedy
        ) from error


def _check_version(guard: Guard) -> None:
    now = version()
    if guard.since is not None and now < _numbers(guard.since):
        raise Unneeded(f"the fault came with torch {guard.since}")
    if guard.until is not None and now >= _numbers(guard.until):
        raise Unneeded(f"torch has the fix from {guard.until}")


def _numbers(text: str) -> tuple[int, int]:
    major, minor = text.split(".")[:2]
    return int(major), int(minor)


class Handle:
    """What ``install`` returns: ``remove()`` once, or use it as a context manager.

    ``reasons`` says which of its guards do nothing on this torch, and why.
    """

    def __init__(self, names: tuple[str, ...], options: dict[str, Any]) -> None:
        self._names: list[str] = []
        self.reasons: dict[str, str] = {}
        try:
            for name in names:
                reason = take(name, options)
                self._names.append(name)
                if reason:
                    self.reasons[name] = reason
        except BaseException:
            self.remove()
            raise

    @property
    def names(self) -> tuple[str, ...]:
        """The guards this handle still holds."""
        return tuple(self._names)

    def remove(self) -> None:
        """Let go of its guards, the last first, from any thread. A second call does nothing."""
        while True:
            with _lock:
                if not self._names:
                    return
                name = self._names.pop()
            drop(name)

    def __enter__(self) -> Handle:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.remove()
