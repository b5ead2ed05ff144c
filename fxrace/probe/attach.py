"""Attaches the hooks and the pressure of one trial, and takes them off again in reverse."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from fxrace.probe.hooks import (
    Blind,
    Detach,
    compile_lock,
    compiled_calls,
    dynamo_compile,
    fx_trace,
)
from fxrace.probe.part import Part
from fxrace.probe.pressure import Pressure
from fxrace.probe.recorder import Recorder
from fxrace.probe.regions import Regions, watch_with
from fxrace.records.trial import Trial


@contextmanager
def attached(trial: Trial, recorder: Recorder) -> Iterator[Regions]:
    """Hooks on, pressure started; everything is undone when the block ends, also by an error."""
    _hide_from_dynamo()
    name = trial.knobs.get("pressure", "none")
    part: Part = importlib.import_module(f"fxrace.probe.pressure.{name}").part
    pressure: Pressure = part.build(recorder, f"{trial.seed}:{trial.repeat}")
    regions = Regions(recorder, pressure)
    with ExitStack() as stack:
        watch_with(regions)
        stack.callback(watch_with, None)
        _attach(stack, recorder, "FX traces", lambda: fx_trace.attach(regions))
        _attach(stack, recorder, "compiles", lambda: dynamo_compile.attach(regions, recorder))
        _attach(stack, recorder, "compile lock", lambda: compile_lock.attach(recorder))
        if pressure.listens:
            _attach(
                stack, recorder, "compiled calls", lambda: compiled_calls.attach(pressure.called)
            )
        pressure.start()
        stack.callback(pressure.stop)
        yield regions


def _attach(stack: ExitStack, recorder: Recorder, what: str, attach: Callable[[], Detach]) -> None:
    try:
        stack.callback(attach())
    except Blind as reason:
        recorder.emit("blind", what=what, reason=str(reason))


def _hide_from_dynamo() -> None:
    """Dynamo would otherwise trace our hooks where they run inside a compiled call."""
    import torch._dynamo.trace_rules as rules

    rules.add("fxrace.probe")
