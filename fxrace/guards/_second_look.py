"""After the compile lock is won, Dynamo's cache is looked up again.

Shared by the guards ``compile_once`` and ``one_owner``. A thread that finds another's finished
graph after its wait runs that graph. The surprise: Dynamo can only be told so by one more cache
entry; ours has a guard that never holds, and counts for no limit.
"""

from __future__ import annotations

import dataclasses
import weakref
from collections.abc import Callable
from functools import wraps
from typing import Any

from fxrace.guards._contract import Detach, GuardRefused, attach_all, counted
from fxrace.guards._hidden import hide_guards
from fxrace.guards._swap import Layer, layered

_MADE_FOR, _COPY = "_fxrace_made_for", "_fxrace_copy"


class _Nobody:
    """No frame holds it, so that no entry of ours counts as one for the frame's objects."""


_NOBODY = _Nobody()


@counted
def attach_second_look() -> Detach:
    """Hook Dynamo's callback, which runs on a cache miss, and the count of cache entries."""
    import torch._dynamo.convert_frame as convert

    wrapper = getattr(convert, "CatchErrorsWrapper", None)
    if wrapper is None or "compute_cache_size" not in vars(convert):
        raise GuardRefused("torch._dynamo.convert_frame has no CatchErrorsWrapper known here")
    hide_guards()
    _never_holding()  # raises here, not in a compile, where guards are built in another way
    return attach_all(
        lambda: layered(wrapper, "__call__", lambda layer: _looking_again(layer, convert)),
        lambda: layered(convert, "compute_cache_size", _without_copies),
    )


def _looking_again(layer: Layer, convert: Any) -> Any:
    @wraps(layer.inner)
    def callback(self: Any, frame: Any, *args: Any, **kwargs: Any) -> Any:
        code = frame.f_code
        if not layer.live or convert.trace_rules.check(code):
            return layer.inner(self, frame, *args, **kwargs)
        made_for = (_backend_of(self), _region())
        with convert.compile_lock:
            found = _made_meanwhile(code, frame, made_for)
            if found is not None:
                return _as_result(found)
            result = layer.inner(self, frame, *args, **kwargs)
            made = getattr(result, "guarded_code", result)
            if made is not None and getattr(made, "guard_manager", None) is not None:
                setattr(made.guard_manager, _MADE_FOR, made_for)
            return result

    return callback


def _made_meanwhile(code: Any, frame: Any, made_for: tuple[Any, int]) -> Any:
    """The cache entry that another thread made while this one waited, if its guards hold here."""
    values = None
    for entry in _entries(code):
        mine = getattr(entry.guard_manager, _MADE_FOR, None)
        if mine is None or mine[1] != made_for[1] or not _same(mine[0], made_for[0]):
            continue
        values = frame.f_locals if values is None else values
        if entry.guard_manager.check(values):
            return entry
    return None


def _as_result(entry: Any) -> Any:
    """What makes the evaluation of this frame run the entry's code, this once."""
    from torch._dynamo import types

    guards = _never_holding(entry.guard_manager)
    made = types.GuardedCode(entry.code, guards, entry.compile_id, "fxrace: found")
    wrap: Callable[[Any], Any] | None = getattr(types, "wrap_guarded_code", None)
    return made if wrap is None else wrap(made)


def _never_holding(like: Any | None = None) -> Any:
    """Guards that never hold, for an object that no frame has.

    They say the rest as ``like`` does, since Dynamo asks every entry why it did not hold.
    """
    from torch._dynamo.guards import GuardManagerWrapper

    guards = GuardManagerWrapper()
    root = guards.root
    words: tuple[Any, ...] = (lambda _: False, ["fxrace: this entry was used once"])
    try:
        root.add_lambda_guard(*words, None)
    except TypeError:  # before 2.10 it takes no stack
        root.add_lambda_guard(*words)
    if like is not None:
        vars(guards).update(vars(like))
        vars(guards).pop(_MADE_FOR, None)
    guards.root, guards.diff_guard_root = root, None
    guards.cache_entry = guards.extra_state = guards.guard_fail_fn = None
    guards.id_matched_objs = {_COPY: weakref.ref(_NOBODY)}
    return guards


def _without_copies(layer: Layer) -> Any:
    @wraps(layer.inner)
    def compute(frame: Any, *args: Any, **kwargs: Any) -> Any:
        size = layer.inner(frame, *args, **kwargs)
        copies = sum(_COPY in one.guard_manager.id_matched_objs for one in _entries(frame.f_code))
        if not copies:
            return size
        names = ("num_cache_entries", "total_cache_entries_all_regions")
        counts = {name: getattr(size, name) - copies for name in names if hasattr(size, name)}
        return dataclasses.replace(size, **counts)

    return compute


def _entries(code: Any) -> list[Any]:
    from torch._C._dynamo.eval_frame import _debug_get_cache_entry_list

    return list(_debug_get_cache_entry_list(code))


def _backend_of(callback: Any) -> Any:
    """The user's backend, at the bottom of Dynamo's callbacks (as Dynamo itself compares it)."""
    while True:
        for name in ("_torchdynamo_orig_backend", "_torchdynamo_orig_callable"):
            if hasattr(callback, name):
                callback = getattr(callback, name)
                break
        else:
            return callback


def _same(one: Any, other: Any) -> bool:
    return one is other or bool(one == other)


def _region() -> int:
    from torch._C._dynamo import eval_frame

    read = getattr(eval_frame, "get_eval_frame_isolate_recompiles_id", None)
    return -1 if read is None else int(read())
