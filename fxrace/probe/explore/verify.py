"""Runs an emitted script as often as it takes to say how reliable it is.

A script is offered only after this: each run is a process of its own, bounded in time, and killed
by its group at the end. One run at least has an interpreter of its own, as its readers' will. The
places of a schedule are translated from points, and a translation can be one visit off, so that a
few neighbouring visits are tried where the first does not reproduce.
"""

from __future__ import annotations

import os
import platform
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from fxrace.probe.explore.emit import Collision, script

REPRODUCED = 66
TIMES, RUN_S = 20, 120.0
_VISITS = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Offered:
    """A script and what is known of it: ``k`` of ``n`` runs reproduced."""

    text: str
    k: int
    n: int


def offered(
    collision: Collision, *, python: str = sys.executable, times: int = TIMES,
    quickly: Callable[[str], bool] | None = None,
) -> Offered | None:  # fmt: skip
    """The script with its reliability in its header; None where it never reproduces.

    ``quickly`` says whether a text reproduces, by a faster way than a new interpreter.
    """
    again = quickly or (lambda text: reproduces(text, python))
    for one in _variants(collision):
        if not again(script(one)) or not reproduces(script(one), python):
            continue
        k = 1 + sum(again(script(one)) for _ in range(times - 1))
        return Offered(text=script(one, header=_header(k, times, python)), k=k, n=times)
    return None


def seen_on(text: str, pythons: Sequence[str], times: int = 3) -> str:
    """The script with a line per further interpreter: on which torch it reproduces as well."""
    lines = [
        _header(sum(reproduces(text, python) for _ in range(times)), times, python)
        for python in pythons
    ]
    return "".join(f"# {line}\n" for line in lines) + text


def _variants(collision: Collision) -> Iterator[Collision]:
    yield collision
    for number, (who, place) in enumerate(collision.stops):
        for visit in range(1, _VISITS + 1):
            if visit != place.visit:
                stops = list(collision.stops)
                stops[number] = (who, replace(place, visit=visit))
                yield replace(collision, stops=tuple(stops))


def reproduces(text: str, python: str) -> bool:
    """Run it once, in an interpreter of its own."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "repro.py"
        file.write_text(text, encoding="utf-8")
        child = subprocess.Popen(
            [python, "-W", "ignore", str(file)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            start_new_session=True,
        )
        try:
            return child.wait(RUN_S) == REPRODUCED
        except subprocess.TimeoutExpired:
            return False
        finally:
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()


def _header(k: int, n: int, python: str) -> str:
    ask = "import platform, torch; print(torch.__version__, platform.python_version())"
    done = subprocess.run(
        [python, "-c", ask], capture_output=True, text=True, timeout=RUN_S, check=False
    )
    torch, _, version = done.stdout.strip().rpartition("\n")[2].partition(" ")
    return (
        f"Reproduced {k}/{n} on torch {torch or 'unknown'}, "
        f"Python {version or platform.python_version()}."
    )
