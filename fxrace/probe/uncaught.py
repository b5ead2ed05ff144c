"""Errors that end a thread, recorded before the program's own ``threading.excepthook`` sees them.

Replacing the hook would be undone by a program that sets its own. Each thread gets the function
that calls the hook when it is made; that function is the one followed here.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

from fxrace.probe.failure import described
from fxrace.probe.recorder import Recorder

_MAKER = "_make_invoke_excepthook"


def record_uncaught(recorder: Recorder, others: Callable[[], list[dict[str, Any]]]) -> None:
    """From now on, a thread that dies of an error leaves a ``raised`` event."""
    make: Callable[[], Callable[[threading.Thread], None]] | None = getattr(threading, _MAKER, None)
    if make is None:
        recorder.emit("blind", what="uncaught errors", reason=f"threading has no {_MAKER}")
        return

    def made() -> Callable[[threading.Thread], None]:
        invoke = make()

        def invoked(thread: threading.Thread) -> None:
            kind, error, _ = sys.exc_info()
            if error is not None and kind is not SystemExit:
                data = described(error)
                recorder.emit("raised", role=thread.name, error=data, others=others())
            invoke(thread)

        return invoked

    setattr(threading, _MAKER, made)
