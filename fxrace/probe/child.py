"""The trial process: one Trial, run to its end, recorded, and never reused.

``run_trial(directory)`` reads ``trial.json``, attaches the hooks, runs the target and leaves
with ``os._exit``: a process that a race has poisoned must not run exit handlers, and threads
that hang must not keep it alive. Exit status 0 means "recorded to the end", whatever was
found; the record, not the status, carries the verdict.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, NoReturn

from fxrace.probe.failure import described
from fxrace.probe.recorder import Recorder
from fxrace.records.trial import Trial

TARGET_UNUSABLE = 70


def run_trial(directory: Path) -> NoReturn:
    """Run the trial described in ``directory``; never returns."""
    began = time.monotonic()
    recorder = Recorder(directory / "events.jsonl", began=began)
    status = 0
    try:
        trial = Trial.from_plain(json.loads((directory / "trial.json").read_text()))
        target = _load(trial.target)
    except BaseException as error:
        recorder.emit("broken", part="target", reason=_sentence(error), error=described(error))
        _leave(TARGET_UNUSABLE)
    try:
        _watched(trial, target, recorder)
    except BaseException as error:
        recorder.emit("raised", role="main", error=described(error), others=_others())
    recorder.emit("phase", name="end")
    _leave(status)


def _watched(trial: Trial, target: Callable[[Trial, Recorder], None], recorder: Recorder) -> None:
    """The target between its hooks: attached in order, detached in reverse, leaks read last.

    A target that is ``unhooked`` does its own watching (the explorer stops threads at a hundred
    thousand points, and each would be recorded). One with ``before_hooks`` changes torch itself
    (guards), and must do so before hooks wrap it.
    """
    from fxrace.probe import states
    from fxrace.probe.attach import attached

    recorder.emit("phase", name="setup")
    before_hooks: Callable[[Trial], None] | None = getattr(target, "before_hooks", None)
    if before_hooks is not None:
        before_hooks(trial)
    before = states.snapshot()
    with ExitStack() as stack:
        stack.enter_context(_uncaught(recorder))
        if not getattr(target, "unhooked", False):
            stack.enter_context(attached(trial, recorder))
        try:
            target(trial, recorder)
        finally:
            recorder.emit("phase", name="check")
    states.record_leaks(recorder, before)


def _load(target: str) -> Callable[[Trial, Recorder], None]:
    module, _, name = target.partition(":")
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found  # type: ignore[no-any-return]


class _uncaught:
    """Record exceptions that end a thread nobody else watches."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def __enter__(self) -> None:
        self._before = threading.excepthook
        threading.excepthook = self._record

    def __exit__(self, *exc: object) -> None:
        threading.excepthook = self._before

    def _record(self, args: threading.ExceptHookArgs, /) -> None:
        if args.exc_value is None or args.exc_type is SystemExit:
            return
        role = args.thread.name if args.thread is not None else "unknown thread"
        self._recorder.emit("raised", role=role, error=described(args.exc_value), others=_others())


def _others() -> list[dict[str, Any]]:
    from fxrace.probe.regions import open_regions

    return open_regions()


def _sentence(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def _leave(status: int) -> NoReturn:
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(status)


if __name__ == "__main__":
    run_trial(Path(sys.argv[1]))
