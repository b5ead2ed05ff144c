"""Which share of the time each thread holds Python's lock, while drafters are in their stride.

py-spy, a process of its own, looks at this one a hundred times a second and notes who holds the
lock. It stops all threads for each look, which costs speed, so nobody is looked at who did not ask.
What is counted runs from the moment when every drafter has done its first steps (they compile) to
the moment when the first of them is through.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

from fxrace.probe.recorder import Recorder

VARIABLE = "FXRACE_PY_SPY"
"""Where fxrace itself has found py-spy; the interpreter of a trial may have none."""
RATE = 100
FEWEST_LOOKS = 50
END_S = 10.0
UNNAMED = "unnamed threads"
_BEHIND = re.compile(r"([\d.]+)s behind in sampling")
_LINE = re.compile(r"thread \([^)]*\)(?:: (?P<name>[^;]*))?(?:;.*)? (?P<count>\d+)")


class Refused(Exception):
    """There is no figure; the text says why, in a sentence."""


class Sampling:
    """py-spy at work on this process, from here to ``stop``. Raises Refused."""

    def __init__(self) -> None:
        spy = program()
        handle, path = tempfile.mkstemp(prefix="gil-", suffix=".raw")
        os.close(handle)
        self._path = Path(path)
        self._words: list[str] = []
        self._began_s = self._ended_s = 0.0
        command = [
            spy, "record", "--pid", str(os.getpid()), "--gil", "--threads", "--function",
            "--format", "raw", "--rate", str(RATE), "--output", path,
        ]  # fmt: skip
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, text=True, errors="replace",
            )  # fmt: skip
        except OSError as error:
            raise Refused(f"py-spy cannot be started ({error.strerror})") from error
        self._reader = threading.Thread(target=self._read, name="py-spy says", daemon=True)
        self._reader.start()

    def stop(self) -> None:
        """No further look. Returns at once."""
        if not self._ended_s:
            self._ended_s = time.monotonic()
            self._process.send_signal(signal.SIGINT)

    def shares(self) -> tuple[dict[str, float], int]:
        """Thread name -> share, largest first, and the number of looks. Raises Refused."""
        self.stop()
        try:
            status = self._process.wait(END_S)
            self._reader.join(END_S)
            counts = counted(self._path.read_text(errors="replace"))
        except subprocess.TimeoutExpired:
            self._process.kill()
            raise Refused(f"py-spy did not end within {END_S:.0f} s") from None
        finally:
            self._path.unlink(missing_ok=True)
        words = " ".join("".join(self._words).split())
        if status and not self._began_s:
            raise Refused(f"py-spy failed ({words[:200] or 'no reason given'})")
        looks = max(self._looks(words), counts.total())
        if looks < FEWEST_LOOKS:
            raise Refused(f"{looks} looks in the steady part of the run: give more --steps")
        return {name: count / looks for name, count in counts.most_common()}, looks

    def _looks(self, words: str) -> int:
        """How many there were; py-spy keeps to its schedule and says how far it is behind."""
        if not self._began_s:
            return 0
        behind = float((_BEHIND.findall(words) or [0.0])[-1])
        return round(max(0.0, self._ended_s - self._began_s - behind) * RATE)

    def _read(self) -> None:
        for line in self._process.stdout or ():
            if "Sampling process" in line:
                self._began_s = time.monotonic()
            self._words.append(line)


class GilShare:
    """Looks at the steady part of one run and records what it saw, or why it saw nothing."""

    def __init__(self, recorder: Recorder, *, drafters: int, warm: int, steps: int) -> None:
        self._recorder = recorder
        self._warm, self._steps = warm, steps
        self._mutex = threading.Lock()
        self._done = [0] * drafters
        self._sampling: Sampling | None = None
        self._why = f"not every drafter got beyond its first {warm} steps"

    def stepped(self, drafter: int, done: int) -> None:
        """Drafter ``drafter`` has done so many steps. Called on its thread."""
        with self._mutex:
            self._done[drafter] = done
            if self._sampling is not None:
                if done == self._steps:
                    self._sampling.stop()
            elif min(self._done) == self._warm == done < self._steps:
                try:
                    self._sampling = Sampling()
                except Refused as refused:
                    self._why = str(refused)

    def close(self) -> None:
        """Record ``gil``, or a note."""
        try:
            if self._sampling is None:
                raise Refused(self._why)
            shares, looks = self._sampling.shares()
        except Refused as refused:
            self._recorder.emit("note", text=f"GIL share not measured: {refused}")
            return
        self._recorder.emit("gil", shares=shares, looks=looks, rate=RATE)


def counted(raw: str) -> Counter[str]:
    """Looks per thread name, from py-spy's raw format; threads of one name are one."""
    found: Counter[str] = Counter()
    for line in raw.splitlines():
        if match := _LINE.fullmatch(line.strip()):
            found[match["name"] or UNNAMED] += int(match["count"])
    return found


def program() -> str:
    """py-spy as fxrace found it, beside this interpreter, or on PATH. Raises Refused."""
    beside = shutil.which("py-spy", path=str(Path(sys.executable).parent))
    found = os.environ.get(VARIABLE) or beside or shutil.which("py-spy")
    if not found:
        raise Refused("py-spy is not installed: pip install py-spy")
    return found
