"""Runs one script to its end in a process that has torch imported already, as an interpreter would.

Status, output, ``sys.argv``, ``sys.path`` and ``__main__`` are what ``python script.py`` gives;
threads that are no daemons are waited for, and exit functions run. The surprise: the interpreter
is not taken down afterwards, which a fork of a process with torch does not survive every time.
"""

from __future__ import annotations

import atexit
import os
import runpy
import sys
import threading
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn


def run(path: str, arguments: Sequence[str]) -> NoReturn:
    """Leaves the process with the script's exit status."""
    sys.argv = [path, *arguments]
    sys.path.insert(0, str(Path(path).parent))
    sys.modules.pop("__main__", None)
    status = 0
    try:
        runpy.run_path(path, run_name="__main__")
    except SystemExit as leaving:
        status = _status(leaving)
    except BaseException:
        traceback.print_exc()
        status = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _status(leaving: SystemExit) -> int:
    if leaving.code is None or isinstance(leaving.code, int):
        return (leaving.code or 0) & 0xFF
    print(leaving.code, file=sys.stderr)
    return 1
