"""A hook for a block made of a generator (``@contextmanager``) that sets a State and restores it.

Such functions are imported by name all over torch, and Dynamo knows some by identity. So the
function stays and the ``__code__`` of its generator is exchanged. No family: the name begins with
an underscore.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from typing import Any

from fxrace.probe.hooks import Blind, Detach
from fxrace.probe.spans import Spans

_ENTERED, _KEPT = "_fxrace_entered", "_fxrace_kept"
#: Frames from a span's beginning to whoever wrote ``with``: ours, the generator, contextlib's.
_ABOVE = 4


def watched_block(spans: Spans, module: Any, name: str) -> Detach:
    """Each use of ``module.name(...)`` as a block is a span. Raises Blind where it is none."""
    inner = getattr(getattr(module, name, None), "__wrapped__", None)
    if not isinstance(inner, types.FunctionType) or inner.__code__.co_freevars:
        raise Blind(f"{module.__name__} has no plain block {name}")
    before, space = inner.__code__, vars(module)
    kept = types.FunctionType(before, space, name, inner.__defaults__)
    kept.__kwdefaults__ = inner.__kwdefaults__
    ours = {_ENTERED: f"{_ENTERED}_{name}", _KEPT: f"{_KEPT}_{name}"}

    def entered() -> Callable[[], None]:
        spans.enter(name, above=_ABOVE)
        return spans.leave

    space.update({ours[_ENTERED]: entered, ours[_KEPT]: kept})
    code = _noting.__code__
    inner.__code__ = code.replace(co_names=tuple(ours.get(each, each) for each in code.co_names))

    def detach() -> None:
        inner.__code__ = before
        for each in ours.values():
            del space[each]

    return detach


def _noting(*args: Any, **kwargs: Any) -> Iterator[Any]:
    # Both names live in torch's module; the end is a local, since the hook may be gone by then.
    left = _fxrace_entered()  # type: ignore[name-defined]  # noqa: F821
    try:
        yield from _fxrace_kept(*args, **kwargs)  # type: ignore[name-defined]  # noqa: F821
    finally:
        left()
