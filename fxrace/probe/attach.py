"""Attaches every hook family in the folder, and takes them off again in reverse.

A family that cannot attach costs the trial its claim to be clean (``blind``); one whose subject
is not on this machine costs nothing (``absent``). A family that breaks in a way nobody foresaw is
blind too: the program under test must not die of its observer.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from fxrace.probe import hooks
from fxrace.probe.hooks import Absent, Blind
from fxrace.probe.part import Part
from fxrace.probe.pressure import Pressure
from fxrace.probe.recorder import Recorder
from fxrace.probe.regions import Regions, watch_with
from fxrace.probe.watching import Watching
from fxrace.records.trial import Trial


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
    _hide_from_dynamo()
    with ExitStack() as stack:
        watch_with(watching.regions)
        stack.callback(watch_with, None)
        for name, family in families().items():
            if getattr(family, "wanted", _always)(watching):
                _attach(stack, watching, name, family)
        watching.pressure.start()
        stack.callback(watching.pressure.stop)
        yield watching.regions


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
    import torch._dynamo.trace_rules as rules

    rules.add("fxrace.probe")
