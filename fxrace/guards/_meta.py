"""FX's current node metadata, per thread: ``annotate``, ``preserve_node_meta`` and their kin.

Two threads that annotate end with ``KeyError: 'custom'``, or with each other's stack traces in
their graphs. All these functions work on one module-wide dictionary and one module-wide truth
value; both are replaced by objects that are a different one in each thread. The surprise: the
flex_attention module imports the dictionary itself, so it is given the new one too.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fxrace.guards._contract import Detach, attach_all
from fxrace.guards._swap import expecting, filled, layered, plain, swapped
from fxrace.guards._thread_state import Inside

META, PRESERVE, SEQUENCE = "current_meta", "should_preserve_node_meta", "_should_preserve_node_meta"


class _Mine(threading.local):
    def __init__(self) -> None:
        self.meta: dict[str, Any] = {}
        self.preserve = False
        self.sequence = False


def _delegated(name: str) -> Any:
    method = getattr(dict, name)

    def call(self: ThreadMeta, *args: Any, **kwargs: Any) -> Any:
        return method(self._mine.meta, *args, **kwargs)

    return call


class ThreadMeta(dict[str, Any]):
    """A dictionary that is another one in every thread; its own storage stays empty.

    What is copied from it is a plain dictionary of this thread's entries.
    """

    __slots__ = ("_mine",)
    __hash__ = None

    def __init__(self, mine: _Mine) -> None:
        self._mine = mine

    def __eq__(self, other: object) -> bool:
        return self._mine.meta == (dict(other.items()) if isinstance(other, dict) else other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return dict, (self._mine.meta.copy(),)


for _name in (
    "__getitem__", "__setitem__", "__delitem__", "__contains__", "__iter__", "__len__", "__repr__",
    "__or__", "__ior__", "__reversed__", "get", "pop", "popitem", "setdefault",
    "update", "clear", "copy", "keys", "values", "items",
):  # fmt: skip
    setattr(ThreadMeta, _name, _delegated(_name))


class ThreadTruth:
    """A truth value that is another one in every thread."""

    def __init__(self, mine: _Mine, name: str) -> None:
        self._mine, self._name = mine, name

    def __bool__(self) -> bool:
        return bool(getattr(self._mine, self._name))


class Metadata:
    """What the three context managers of ``torch.fx.traceback`` save and put back."""

    def __init__(self, module: Any, inside: Inside) -> None:
        self._module, self._inside = module, inside
        self.mine = _Mine()

    @contextmanager
    def preserving(self, enable: bool = True) -> Iterator[None]:  # noqa: FBT001, FBT002 - as torch's
        mine = self.mine
        with self._inside:
            before, meta = mine.preserve, mine.meta.copy()
            mine.preserve = enable
            try:
                yield
            finally:
                mine.preserve, mine.meta = before, meta

    @contextmanager
    def numbering(self, enable: bool = True) -> Iterator[None]:  # noqa: FBT001, FBT002 - as torch's
        mine = self.mine
        with self._inside:
            before, mine.sequence = mine.sequence, enable
            try:
                yield
            finally:
                mine.sequence = before

    @contextmanager
    def current(self, node: Any, pass_name: str) -> Iterator[None]:
        mine = self.mine
        if not (mine.preserve and node.meta):
            yield
            return
        with self._inside:
            before, mine.meta = mine.meta, node.meta.copy()
            source, create = self._module.NodeSource, self._module.NodeSourceAction.CREATE
            mine.meta["from_node"] = [source(node, pass_name, create)]
            try:
                yield
            finally:
                mine.meta = before


def _preserving(enable: bool = True) -> Any:  # noqa: FBT001, FBT002 - as torch's
    with "<fxrace>".preserving(enable):  # type: ignore[attr-defined]
        yield


def _preserving_always() -> Any:
    with "<fxrace>".preserving():  # type: ignore[attr-defined]
        yield


def _numbering(preserve_seq_nr: bool = True) -> Any:  # noqa: FBT001, FBT002 - as torch's
    with "<fxrace>".numbering(preserve_seq_nr):  # type: ignore[attr-defined]
        yield


def _current(node: Any, pass_name: str = "") -> Any:
    with "<fxrace>".current(node, pass_name):  # type: ignore[attr-defined]
        yield


def attach_meta(inside: Inside) -> Detach:
    """Per-thread metadata in ``torch.fx.traceback`` and in what imported from it."""
    import torch._higher_order_ops.flex_attention  # noqa: F401 - it imports the dictionary
    import torch.fx.traceback as module

    state = Metadata(module, inside)
    meta, space = ThreadMeta(state.mine), vars(module)
    preserve = expecting(plain(module.preserve_node_meta), META, PRESERVE)
    templates = {
        preserve: _preserving if preserve.__code__.co_argcount else _preserving_always,
        expecting(plain(module.set_current_meta), META, "NodeSource"): _current,
    }
    truths = {PRESERVE: ThreadTruth(state.mine, "preserve")}
    if SEQUENCE in space:
        truths[SEQUENCE] = ThreadTruth(state.mine, "sequence")
        templates[expecting(plain(module._preserve_node_seq_nr), SEQUENCE)] = _numbering
    return attach_all(
        *(lambda f=f, t=t: swapped(f, filled(t, f, state)) for f, t in templates.items()),
        *(lambda n=n, v=v: layered(module, n, lambda _: v) for n, v in truths.items()),
        *(lambda m=m: layered(m, META, lambda _: meta) for m in _importers(module)),
    )


def _importers(module: Any) -> list[Any]:
    """Modules that hold the dictionary by name: its own, and flex_attention's from 2.13."""
    import sys

    flex = sys.modules["torch._higher_order_ops.flex_attention"]
    return [module, *([flex] if vars(flex).get(META) is not None else [])]
