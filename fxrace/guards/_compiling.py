"""``torch.compiler.is_compiling()`` and its relatives, per thread.

From 2.13 Dynamo raises the flag for the length of a compile, export does so in all versions, and
every thread of the process reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from fxrace.guards._contract import Detach, attach_all
from fxrace.guards._swap import expecting, filled, plain, swapped
from fxrace.guards._thread_state import Inside, ThreadFlag

COMPILING, EXPORTING, NON_STRICT = (
    "_is_compiling_flag",
    "_is_exporting_flag",
    "_is_non_strict_tracing_flag",
)


def _is_compiling() -> Any:
    if torch.jit.is_scripting():  # type: ignore[name-defined]  # noqa: F821
        return False
    return _is_compiling_flag and "<fxrace>".here()  # type: ignore[name-defined, attr-defined]  # noqa: F821


def _is_exporting() -> Any:
    return _is_exporting_flag and "<fxrace>".here()  # type: ignore[name-defined, attr-defined]  # noqa: F821


def _is_non_strict() -> Any:
    return _is_non_strict_tracing_flag and "<fxrace>".here()  # type: ignore[name-defined, attr-defined]  # noqa: F821


class Session:
    """A block during which these flags are up for this thread."""

    def __init__(self, inside: Inside, *flags: ThreadFlag) -> None:
        self._inside, self._flags = inside, flags

    @contextmanager
    def up(self) -> Iterator[None]:
        with self._inside:
            yield from self._raised(self._flags)

    def _raised(self, flags: tuple[ThreadFlag, ...]) -> Iterator[None]:
        if not flags:
            yield
            return
        with flags[0].put(True):
            yield from self._raised(flags[1:])


def _session() -> Any:
    with "<fxrace>".up():  # type: ignore[attr-defined]
        yield


def attach_compiling(inside: Inside) -> Detach:
    """Every flag whose writers can all be reached; the others are left as they are."""
    import torch.compiler as module
    from torch._export import utils as export

    space = vars(module)
    flags = {name: ThreadFlag(space, name) for name in (COMPILING, EXPORTING, NON_STRICT)}
    steps: list[Callable[[], Detach]] = []

    def written(holder: Any, name: str, session: Session, *known: str) -> None:
        function = expecting(plain(getattr(holder, name)), *known)
        steps.append(lambda: swapped(function, filled(_session, function, session)))

    def read(name: str, template: Any, flag: str) -> None:
        steps.append(flags[flag].read_by(expecting(plain(getattr(module, name)), flag), template))

    if hasattr(export, "_compiling_state_context"):  # 2.8; before, export has it in closures
        both = Session(inside, flags[COMPILING], flags[EXPORTING])
        if EXPORTING not in space:
            both = Session(inside, flags[COMPILING])
        written(export, "_compiling_state_context", both, COMPILING)
        read("is_compiling", _is_compiling, COMPILING)
        if EXPORTING in space:
            read("is_exporting", _is_exporting, EXPORTING)
    if hasattr(module, "_compile_session_context"):  # 2.13
        session = Session(inside, flags[COMPILING])
        written(module, "_compile_session_context", session, COMPILING)
    if hasattr(module, "_non_strict_tracing_context"):
        strict = Session(inside, flags[NON_STRICT])
        written(module, "_non_strict_tracing_context", strict, NON_STRICT)
        read("_is_non_strict_tracing", _is_non_strict, NON_STRICT)
    return attach_all(lambda: _ending(flags), *steps)


def _ending(flags: dict[str, ThreadFlag]) -> Detach:
    def detach() -> None:
        for flag in flags.values():
            flag.live = False

    return detach
