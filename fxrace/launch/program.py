"""Starts somebody's program under an interpreter with fxrace inside, and waits for its end.

The program keeps our standard streams, our terminal and our process group, so that pipes,
prompts and job control are those of a plain run. Ctrl-C therefore reaches the program by
itself; here it is only waited out. The surprise: nothing of the environment is changed.
"""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import psutil

import fxrace
from fxrace.errors import InterpreterUnusable
from fxrace.launch import faulthandler_text
from fxrace.probe.confine import STACKS
from fxrace.records.outcome import Ending, Stop

GRACE_S = 3.0

_BOOT = """
import sys
sys.version_info >= (3, 10) or sys.exit("Python %d.%d is too old: 3.10 or newer is needed"
    % sys.version_info[:2])
if sys.path and sys.path[0] == "": del sys.path[0]
from importlib.util import module_from_spec, spec_from_file_location
home = sys.argv.pop(1)
spec = spec_from_file_location("fxrace", home + "/__init__.py", submodule_search_locations=[home])
sys.modules["fxrace"] = package = module_from_spec(spec)
spec.loader.exec_module(package)
from fxrace.probe.program import main
main(*sys.argv[1:])
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Program:
    """What to run: ``kind`` is ``script`` or ``module``."""

    kind: str
    name: str
    words: tuple[str, ...]

    @property
    def told(self) -> tuple[str, ...]:
        """The words a user would type after ``python``."""
        return (*(("-m",) if self.kind == "module" else ()), self.name, *self.words)


def run(
    program: Program, *, python: Path, directory: Path, pressure: str, seed: int,
    limit_s: float | None,
) -> Ending:  # fmt: skip
    """Run it to its end, recording into ``directory``. Raises InterpreterUnusable."""
    home = Path(fxrace.__file__).absolute().parent
    command = (
        str(python), "-c", _BOOT, str(home), str(directory.absolute()), pressure, str(seed),
        program.kind, program.name, *program.words,
    )  # fmt: skip
    began = time.monotonic()
    with _Passing() as passing:
        try:
            process = subprocess.Popen(command)
        except OSError as error:
            raise InterpreterUnusable(
                f"{python} cannot be started: {error.strerror}", remedy="check --python"
            ) from error
        passing.to = process
        try:
            status = process.wait(timeout=limit_s)
            stop = Stop.SIGNALLED if status < 0 else Stop.EXITED
        except subprocess.TimeoutExpired:
            _end(process)
            status, stop = 0, Stop.TIMED_OUT
    return Ending(
        stop=stop,
        code=abs(status),
        duration_s=time.monotonic() - began,
        overhead_s=0.0,
        stacks=faulthandler_text.parse(_text(directory / STACKS)),
    )


class _Passing:
    """While the program runs: SIGTERM and SIGHUP go on to it, SIGINT is its own business."""

    def __init__(self) -> None:
        self.to: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> _Passing:
        wanted = {
            signal.SIGTERM: self._pass_on,
            signal.SIGHUP: self._pass_on,
            signal.SIGINT: self._wait_out,
        }
        # What is ignored stays so (nohup, background jobs), and the program inherits that.
        self._before = {
            number: signal.signal(number, handler)
            for number, handler in wanted.items()
            if signal.getsignal(number) is not signal.SIG_IGN
        }
        return self

    def __exit__(self, *exc: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _wait_out(self, _number: int, _frame: FrameType | None) -> None:
        """A terminal tells everybody in the foreground, the program too."""

    def _pass_on(self, number: int, _frame: FrameType | None) -> None:
        if self.to is not None:
            with suppress(ProcessLookupError):
                self.to.send_signal(number)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Out of time: SIGTERM, a grace, then SIGKILL for it and all it started."""
    children: Sequence[psutil.Process] = []
    with suppress(psutil.Error):
        children = psutil.Process(process.pid).children(recursive=True)
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(timeout=GRACE_S)
    process.kill()
    process.wait()
    for child in children:
        with suppress(psutil.Error):
            child.kill()


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
