"""How many Dynamo compiles each thread has made; steady state is where none was.

``convert_frame._compile`` is looked up in its module on every call (2.2 to 2.15), so replacing
the attribute reaches everything compiled earlier. Frames that Dynamo decides to skip come back
without guarded code and are no compiles.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from harness.figures.counters import Counters, PerThread

_PLACE = "_compile"


def count_compiles(counters: Counters) -> PerThread:
    """Count for the length of the trial; says ``blind`` where torch has no such place."""
    import torch._dynamo.convert_frame as convert

    counts = PerThread()
    if getattr(convert, _PLACE, None) is None:
        counters.blind("compile counts", f"torch._dynamo.convert_frame has no {_PLACE}")
    else:
        counters.attach_once("compile counts", lambda: _attach(convert, counts))
    return counts


def _attach(convert: Any, counts: PerThread) -> Callable[[], None]:
    original = getattr(convert, _PLACE)

    @wraps(original)
    def counted(*args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        if getattr(result, "guarded_code", result) is not None:
            counts.add()
        return result

    setattr(convert, _PLACE, counted)

    def detach() -> None:
        setattr(convert, _PLACE, original)

    return detach
