"""Names the native function in which a thread stands, as py-spy's unwinder sees it.

Much slower than Python stacks (it reads the symbols of every library, seconds under torch), so
it is asked only when a thread waits outside Python.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any

from fxrace.launch import py_spy


def leaves(pid: int) -> dict[int, str]:
    """Kernel thread id -> ``function (library)``, "" where Python code is innermost.

    Raises ``py_spy.Refused``.
    """
    try:
        return {
            int(thread["os_thread_id"] or 0): _leaf(thread["frames"])
            for thread in json.loads(py_spy.dump(pid, "--native"))
        }
    except (ValueError, KeyError, TypeError) as error:
        raise py_spy.Refused(f"py-spy answered in an unknown form ({error!r})") from None


def _leaf(frames: Sequence[dict[str, Any]]) -> str:
    """The innermost native frame that has a name."""
    for frame in frames:
        if not frame.get("module"):
            return ""
        name = str(frame["name"])
        if not name.startswith("0x"):
            return f"{name} ({PurePosixPath(str(frame['module'])).name})"
    return ""
