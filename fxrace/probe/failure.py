"""An exception as plain values: type, message, frames and the chain of causes."""

from __future__ import annotations

import traceback
from typing import Any

MESSAGE_KEPT = 4000
FRAMES_KEPT = 60
CAUSES_KEPT = 8


def described(error: BaseException) -> dict[str, Any]:
    """``{type, message, frames, causes}``; frames are [file, line, function], innermost last.

    ``causes`` follows ``__cause__`` and ``__context__``, outermost first: the last one is the
    root, which is what names the State. A suppressed context is followed too, because Dynamo
    wraps with ``from None`` the very error that tells what happened.
    """
    chain: list[BaseException] = []
    at: BaseException | None = error
    while at is not None and at not in chain and len(chain) <= CAUSES_KEPT:
        chain.append(at)
        at = at.__cause__ or at.__context__
    first, *causes = [_one(link) for link in chain]
    return {**first, "causes": causes}


def _one(error: BaseException) -> dict[str, Any]:
    frames = traceback.extract_tb(error.__traceback__)[-FRAMES_KEPT:]
    return {
        "type": f"{type(error).__module__}.{type(error).__qualname__}".removeprefix("builtins."),
        "message": str(error)[:MESSAGE_KEPT],
        "frames": [[frame.filename, frame.lineno or 0, frame.name] for frame in frames],
    }
