"""An interpreter examines itself for ``fxrace doctor``: one line of JSON, then it waits to be read.

After the line it stands still until its standard input ends, so that the parent can try to read
its stacks from outside, as it would those of a hung program. The surprise: standard output is
kept for that line alone; whatever torch prints goes to standard error.
"""

from __future__ import annotations

import faulthandler
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from fxrace.core.states import STATES
from fxrace.probe import states
from fxrace.probe.describe import describe
from fxrace.probe.hooks import Absent
from fxrace.probe.zygote import thread_count
from fxrace.records.state import Keeping, State

DISCOVER = "discover"


def examine(*, discover: bool) -> dict[str, Any]:
    """The answer as plain values. ``problem`` is set, alone, where torch cannot be used."""
    answer: dict[str, Any] = {"environment": describe()}
    if answer["environment"]["problem"]:
        return answer
    answer["abilities"] = {
        "fork": _fork(),
        "faulthandler": _faulthandler(),
        "gpus": _gpus(answer["environment"]["gpus"]),
        **_hooks(),
    }
    answer["states"] = _states()
    if discover:
        from fxrace.probe.discover import discover as found

        answer["discovered"] = found()
    return answer


def _states() -> list[dict[str, Any]]:
    seen, present = states.snapshot(*Keeping), states.version()
    return [
        {
            "name": state.name,
            "resolved": state.name in seen.values,
            "expected": state.shared_in(present),
            "reason": seen.unresolved.get(state.name, "") or _limits(state, present),
        }
        for state in STATES
    ]


def _limits(state: State, present: tuple[int, int]) -> str:
    """What cannot be seen of a State that is read: empty for most."""
    if not state.shared_in(present):
        return _bounds(state)
    if not state.unhooked:
        return ""
    seen = "only its leaks are seen" if state.keeping is Keeping.RESTORED else "not watched"
    return f"{seen}: {state.unhooked}"


def _bounds(state: State) -> str:
    """Which torch has it."""
    parts = []
    if state.since is not None:
        parts.append(f"from torch {state.since[0]}.{state.since[1]}")
    if state.until is not None:
        parts.append(f"before torch {state.until[0]}.{state.until[1]}")
    return f"only {' and '.join(parts)}"


def _fork() -> dict[str, Any]:
    if not hasattr(os, "fork"):
        return _ability("this platform has no fork")
    threads = thread_count()
    if threads != 1:
        return _ability(
            f"torch's import leaves {threads} threads, and a fork would lose all but one"
        )
    return _ability("")


def _faulthandler() -> dict[str, Any]:
    with tempfile.TemporaryFile() as file:
        faulthandler.dump_traceback(file, all_threads=True)
        file.seek(0)
        written = file.read()
    return _ability("" if b"_faulthandler" in written else "it wrote no stack of this function")


def _gpus(names: list[str]) -> dict[str, Any]:
    import torch

    if names:
        return {"ok": True, "reason": ", ".join(names)}
    built = torch.backends.cuda.is_built()
    return _ability("torch sees no GPU" if built else "this torch is built without CUDA")


def _hooks() -> dict[str, dict[str, Any]]:
    """Every family attached once, and taken off again."""
    from fxrace.probe.attach import families
    from fxrace.probe.pressure.none import NoPressure
    from fxrace.probe.recorder import Recorder
    from fxrace.probe.regions import Regions
    from fxrace.probe.watching import Watching

    found: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder:
        recorder = Recorder(Path(folder) / "events.jsonl")
        pressure = NoPressure()
        watching = Watching(
            recorder=recorder, regions=Regions(recorder, pressure), pressure=pressure
        )
        with ExitStack() as stack:
            for name, family in families().items():
                found[f"hooks.{name}"] = _attach(stack, family, watching)
        recorder.close()
    return found


def _attach(stack: ExitStack, family: Any, watching: Any) -> dict[str, Any]:
    try:
        stack.callback(family.attach(watching))
    except Absent as reason:
        return {"ok": True, "reason": f"not here, so it cannot race: {reason}"}
    except Exception as error:
        return _ability(str(error) or type(error).__name__)
    return {"ok": True, "reason": f"known in torch {family.KNOWN}"}


def _ability(problem: str) -> dict[str, Any]:
    return {"ok": not problem, "reason": problem}


@contextmanager
def _stdout_kept() -> Iterator[int]:
    """The real standard output as a descriptor; everything else that prints goes to stderr."""
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield kept
    finally:
        os.close(kept)


def main(arguments: list[str]) -> None:
    with _stdout_kept() as stdout:
        answer = examine(discover=DISCOVER in arguments)
        os.write(stdout, json.dumps(answer).encode() + b"\n")
    sys.stdin.buffer.read()
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
