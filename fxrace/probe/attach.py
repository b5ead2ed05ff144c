"""Attaches every hook family in the folder, and takes them off again in reverse.

A family that cannot attach costs the trial its claim to be clean (``blind``); one whose subject
is not on this machine costs nothing (``absent``). A family that breaks in a way nobody foresaw is
blind too: the program under test must not die of its observer.

The surprise: a family with ``AFTER`` waits for that module's first import, since most of what is
watched lies in parts of torch that a program may never load, and loading them takes seconds.
"""

from __future__ import annotations

import importlib
import pkgutil
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

from fxrace.probe import hooks
from fxrace.probe.first_import import when_imported
from fxrace.probe.hooks import Absent, Blind, Detach
from fxrace.probe.part import Part
from fxrace.probe.pressure import Pressure
from fxrace.probe.recorder import Recorder
from fxrace.probe.regions import Regions, watch_with
from fxrace.probe.watching import Watching
from fxrace.records.trial import Trial

_RULES, _HERE = "torch._dynamo.trace_rules", __name__


def families() -> dict[str, Any]:
    """Every hook family in the folder, by file name. Imports no torch."""
    return {
        module.name: importlib.import_module(f"{hooks.__name__}.{module.name}")
        for module in pkgutil.iter_modules(hooks.__path__)
        if not module.name.startswith("_")
    }


@contextmanager
def attached(trial: Trial, recorder: Recorder) -> Iterator[Regions]:
    """Hooks on, pressure started; everything is undone when the block ends, also by an error."""
    name = trial.knobs.get("pressure", "none")
    part: Part = importlib.import_module(f"fxrace.probe.pressure.{name}").part
    pressure: Pressure = part.build(recorder, f"{trial.seed}:{trial.repeat}")
    watching = Watching(recorder=recorder, regions=Regions(recorder, pressure), pressure=pressure)
    with attached_to(watching) as regions:
        yield regions


@contextmanager
def attached_to(watching: Watching) -> Iterator[Regions]:
    """The same for a program that is no trial."""
    ended = threading.Event()
    with ExitStack() as stack:
        stack.callback(when_imported(_RULES, _hide_from_dynamo))
        watch_with(watching.regions)
        stack.callback(watch_with, None)
        for name, family in families().items():
            if getattr(family, "wanted", _always)(watching):
                attach = partial(_attach, stack, watching, name, family)
                stack.callback(_after(family, attach, ended))
        watching.pressure.start()
        stack.callback(watching.pressure.stop)
        try:
            yield watching.regions
        finally:
            ended.set()


def _after(family: Any, attach: Callable[[], None], ended: threading.Event) -> Detach:
    """Attach now, or when the module of the family is imported; the result ends the waiting.

    Late attaching runs inside that import, in whichever thread. It takes no lock, since it
    imports in its turn: should the watch end meanwhile, what is attached goes with the stack.
    """

    def late() -> None:
        if not ended.is_set():
            attach()

    return when_imported(getattr(family, "AFTER", _HERE), late)


def _attach(stack: ExitStack, watching: Watching, name: str, family: Any) -> None:
    what = f"hooks {name}"
    try:
        stack.callback(family.attach(watching))
    except Absent as reason:
        watching.recorder.emit("absent", what=what, reason=str(reason))
    except Blind as reason:
        watching.recorder.emit("blind", what=what, reason=str(reason))
    except Exception as error:
        watching.recorder.emit("blind", what=what, reason=f"{type(error).__name__}: {error}")


def _always(watching: Watching) -> bool:  # noqa: ARG001 - what ``wanted`` is called with
    return True


def _hide_from_dynamo() -> None:
    """Dynamo would otherwise trace our hooks where they run inside a compiled call."""
    importlib.import_module(_RULES).add("fxrace.probe")
