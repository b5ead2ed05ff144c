"""FX's patches of ``nn.Module`` and of module globals, applied for the tracing thread alone.

``Tracer.trace`` replaces ``nn.Module.__call__`` and ``__getattr__`` in the whole process. Here a
trace registers its wrappers for its own thread, and while any trace runs the two methods have
code that asks whose they are. Their identity stays, so Dynamo, compiling in another thread, still
knows them; when the last trace ends the old code is back.

Functions wrapped with ``fx.wrap`` do nothing unless a Proxy comes in, so those patches may be
seen by every thread; they are counted, and go with the last trace that wants them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import FunctionType
from typing import Any

from fxrace.guards._contract import Detach
from fxrace.guards._swap import copy_of, filled, layered, plain, swapped

_ABSENT = object()


class _Wrappers(threading.local):
    """This thread's wrappers of one method, the innermost last."""

    def __init__(self) -> None:
        self.stack: list[Callable[..., Any]] = []


def _call(self: Any, *args: Any, **kwargs: Any) -> Any:
    return "<fxrace>".call(self, *args, **kwargs)  # type: ignore[attr-defined]


def _getattr(self: Any, name: str) -> Any:
    return "<fxrace>".getattr(self, name)  # type: ignore[attr-defined]


class Diversion:
    """One method whose calls go to the calling thread's wrapper, if it has one."""

    def __init__(self, holder: type, name: str, template: Callable[..., Any]) -> None:
        self._function = plain(vars(holder)[name])
        self.original = copy_of(self._function)
        self._code = filled(template, self._function, self)
        self._wrappers = _Wrappers()
        self._lock = threading.Lock()
        self._count = 0
        self._undo: Detach | None = None

    def call(self, module: Any, *args: Any, **kwargs: Any) -> Any:
        mine = self._wrappers.stack
        return (mine[-1] if mine else self.original)(module, *args, **kwargs)

    def getattr(self, module: Any, name: str) -> Any:
        mine = self._wrappers.stack
        return (mine[-1] if mine else self.original)(module, name)

    def push(self, wrapper: Callable[..., Any]) -> None:
        self._wrappers.stack.append(wrapper)
        with self._lock:
            self._count += 1
            if self._undo is None:
                self._undo = swapped(self._function, self._code)

    def pop(self, wrapper: Callable[..., Any]) -> None:
        mine = self._wrappers.stack
        for place in reversed(range(len(mine))):
            if mine[place] is wrapper:
                del mine[place]
                break
        with self._lock:
            self._count -= 1
            if not self._count and self._undo is not None:
                self._undo()
                self._undo = None


class SharedEntry:
    """One wrapped name in one module's globals, and how many traces want it."""

    __slots__ = ("before", "count", "holder", "name")

    def __init__(self, holder: dict[str, Any], name: str) -> None:
        self.holder, self.name = holder, name
        self.before = holder.get(name, _ABSENT)
        self.count = 0


class Ground:
    """Where every thread's patches are made: the two methods, and the counted names."""

    def __init__(self, module_class: type) -> None:
        self._class = module_class
        self.methods = {
            "__call__": Diversion(module_class, "__call__", _call),
            "__getattr__": Diversion(module_class, "__getattr__", _getattr),
        }
        self._lock = threading.Lock()
        self._shared: dict[tuple[int, str], SharedEntry] = {}

    def diverts(self, holder: type, name: str) -> bool:
        return holder is self._class and name in self.methods

    def share(self, holder: dict[str, Any], name: str, wrapper: Any) -> None:
        with self._lock:
            entry = self._shared.setdefault((id(holder), name), SharedEntry(holder, name))
            entry.count += 1
            if entry.count == 1:
                holder[name] = wrapper

    def unshare(self, holder: dict[str, Any], name: str) -> None:
        with self._lock:
            entry = self._shared[(id(holder), name)]
            entry.count -= 1
            if entry.count:
                return
            del self._shared[(id(holder), name)]
            if entry.before is _ABSENT:
                holder.pop(name, None)
            else:
                holder[name] = entry.before

    def shared_in(self, holder: Any) -> list[str]:
        """Names in this dictionary that some trace has wrapped just now."""
        with self._lock:
            return [name for where, name in self._shared if where == id(holder)]

    def originals(self, fx: Any) -> list[Callable[[], Detach]]:
        """FX's own wrappers call the methods below the diversion, not into it again."""

        def to(name: str, function: FunctionType) -> Callable[[], Detach]:
            return lambda: layered(fx, name, lambda _: function)

        return [
            to("_orig_module_call", self.methods["__call__"].original),
            to("_orig_module_getattr", self.methods["__getattr__"].original),
        ]


def patcher_class(fx: Any, ground: Ground) -> type:
    """A ``_Patcher`` whose patches are this thread's, or counted. Same interface as torch's."""

    class ThreadPatcher(fx._Patcher):  # type: ignore[misc]
        def patch(self, frame_dict: Any, name: str, new_fn: Any, deduplicate: bool = True) -> None:  # noqa: ARG002, FBT001, FBT002
            self._add(_Shared(ground, frame_dict, name, new_fn))

        def patch_method(self, cls: Any, name: str, new_fn: Any, deduplicate: bool = True) -> None:  # noqa: FBT001, FBT002
            if ground.diverts(cls, name):
                self._add(_Diverted(ground.methods[name], new_fn))
            else:
                super().patch_method(cls, name, new_fn, deduplicate)

        def visit_once(self, thing: Any) -> bool:
            first: bool = super().visit_once(thing)
            if first:
                for name in ground.shared_in(thing):
                    self._add(_Shared(ground, thing, name, thing[name]))
            return first

        def _add(self, patch: Any) -> None:
            self.patches_made.append(patch)
            patch.patch()

    return ThreadPatcher


class _Diverted:
    """One registration of a wrapper for this thread."""

    def __init__(self, method: Diversion, wrapper: Any) -> None:
        self._method, self._wrapper = method, wrapper

    def patch(self) -> None:
        self._method.push(self._wrapper)

    def revert(self) -> None:
        self._method.pop(self._wrapper)


class _Shared:
    """One trace's wish that a name in a module's globals be wrapped."""

    def __init__(self, ground: Ground, holder: Any, name: str, wrapper: Any) -> None:
        self._ground, self._holder, self._name = ground, holder, name
        self._wrapper = wrapper

    def patch(self) -> None:
        self._ground.share(self._holder, self._name, self._wrapper)

    def revert(self) -> None:
        self._ground.unshare(self._holder, self._name)
