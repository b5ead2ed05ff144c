"""Asks py-spy for the stacks of a process, in its JSON form.

The process is paused for the reading (not ``--nonblocking``), so that a busy one cannot move
under the reader; it is about to be killed, so a pause costs nothing.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from fxrace.records.finding import Frame
from fxrace.records.outcome import ThreadStack

LIMIT_S = 3.0


class Refused(Exception):
    """py-spy gave no stacks. The text is the reason, fit for a sentence; never seen by users
    as an error, because faulthandler's stacks take the place.
    """


def dump(pid: int, *options: str) -> str:
    """``py-spy dump`` of ``pid`` as JSON text, with further options. Raises ``Refused``."""
    found = program()
    if found is None:
        raise Refused("py-spy is not installed")
    try:
        ran = subprocess.run(
            [found, "dump", "--json", "--full-filenames", *options, "--pid", str(pid)],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=LIMIT_S,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        raise Refused(f"py-spy did not answer within {LIMIT_S:.0f} s") from None
    except OSError as error:
        raise Refused(f"py-spy cannot be started ({error.strerror})") from None
    if ran.returncode or not ran.stdout.strip():
        lines = [line.strip() for line in ran.stderr.splitlines() if line.strip()]
        raise Refused(f"py-spy failed ({' '.join(lines)[:200] or 'no reason given'})")
    return ran.stdout


def parse(text: str) -> tuple[ThreadStack, ...]:
    """The threads of a dump, frames turned so that the innermost is last. Raises ``Refused``."""
    try:
        return tuple(_thread(plain) for plain in json.loads(text))
    except (ValueError, KeyError, TypeError) as error:
        raise Refused(f"py-spy answered in an unknown form ({error!r})") from None


def _thread(plain: dict[str, Any]) -> ThreadStack:
    ident = plain["thread_id"]
    return ThreadStack(
        thread=plain.get("thread_name") or f"thread {ident:#x}",
        ident=ident,
        frames=tuple(
            Frame(file=f["filename"], line=f["line"], function=f["name"])
            for f in reversed(plain["frames"])
        ),
        source="py-spy",
        holds_gil=bool(plain.get("owns_gil")),
    )


def program() -> str | None:
    """py-spy beside this interpreter, else on PATH."""
    return shutil.which("py-spy", path=str(Path(sys.executable).parent)) or shutil.which("py-spy")
