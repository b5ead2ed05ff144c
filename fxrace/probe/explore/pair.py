"""The target of ``fxrace explore``: one A against one or many Bs, in one trial process.

Knobs: ``a`` is an operation, ``b`` one or several separated by commas (a trial costs a fork, its
references and A's subject; many Bs share them). Each pair is explored in a fork of its own, made
before anything ran, and its events are written by that fork; this process keeps one thread.

No hooks are attached (``unhooked``): what is compared is torch as a program finds it, and a
hundred thousand stops would each record the regions they pass. Events: ``note`` when a pair
begins (so that the watchdog hears us), ``difference`` per confirmed difference, ``pair`` per pair.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from typing import Any

from fxrace.probe.explore.interference import explore
from fxrace.probe.explore.interference_course import Prepared
from fxrace.probe.explore.interference_fork import End, Say, forked
from fxrace.probe.explore.interference_reference import Known
from fxrace.probe.explore.interference_states import Reader
from fxrace.probe.operations import Cost, Operation, Reuse, load
from fxrace.probe.recorder import Recorder
from fxrace.probe.zygote import thread_count
from fxrace.records.trial import Trial

_PAIR_S = 1800.0
_SPARES = 3


def run(trial: Trial, recorder: Recorder) -> None:
    """Explore the pairs that the knobs name. Settings: ``budget``, a factor on the stops."""
    device = str(trial.settings.get("device") or "cpu")
    factor = float(trial.settings.get("budget") or 1.0)
    a, known = trial.knobs["a"], Known()
    _quiet()
    for b in filter(None, trial.knobs["b"].split(",")):
        recorder.emit("note", text=f"pair {a} {b}")
        _pair(a, b, device, factor, known, recorder)


run.unhooked = True  # type: ignore[attr-defined]


def _quiet() -> None:
    """One compile worker and no warnings: pools would be threads, which no fork survives."""
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
    warnings.simplefilter("ignore")


def _pair(a: str, b: str, device: str, factor: float, known: Known, recorder: Recorder) -> None:
    """One pair in a fork. Whatever happens, one ``pair`` event comes of it."""

    def body(say: Say) -> None:
        said = _explore(a, b, device, factor, known, recorder)
        say({"is": "known", "known": known, "said": said})

    heard = forked(body, limit_s=_PAIR_S, watchdog=False)
    last = heard.last("known")
    if last is not None:
        known.update(last["known"])
        return
    broken = heard.last("broken")
    reason = broken["reason"] if broken else f"the driver {heard.end.value} {heard.signal or ''}"
    if heard.end is End.SILENT:
        reason = f"not ended after {_PAIR_S:.0f} s"
    recorder.emit("pair", **_unexplored(a, b, "inconclusive", reason.strip()))


def _explore(a: str, b: str, device: str, factor: float, known: Known, recorder: Recorder) -> str:
    try:
        operations = load(a), load(b)
    except (LookupError, ImportError) as error:
        recorder.emit("pair", **_unexplored(a, b, "inconclusive", str(error)))
        return "unloaded"
    for operation in operations:
        reason = operation.refuse(device)
        if reason is not None:
            told = f"{operation.name} {reason}"
            recorder.emit("pair", **_unexplored(a, b, "skipped", told))
            return "refused"
    prepared = prepare(*operations)
    threads = thread_count()
    if threads != 1:
        reason = f"preparing left {threads} threads, and a fork would lose all but one"
        recorder.emit("pair", **_unexplored(a, b, "inconclusive", reason))
        return "threads"
    explore(prepared, recorder.emit, known, factor=factor)
    return "explored"


def prepare(a: Operation, b: Operation) -> Prepared:
    """Subjects of both, in this process. B has as many as its runs can spoil."""
    count = _SPARES
    if b.reuse is not Reuse.WARM:
        count = {Cost.CHEAP: 122, Cost.MEDIUM: 62, Cost.EXPENSIVE: 14}[b.cost]
    reader = Reader()
    a_subject = a.prepare()
    return Prepared(
        a=a,
        b=b,
        a_subject=a_subject,
        b_subjects=[b.prepare() for _ in range(count)],
        reader=reader,
    )


def _unexplored(a: str, b: str, verdict: str, reason: str) -> Mapping[str, Any]:
    counts = ("points", "stopped", "schedules", "slips", "blocked", "differences", "unconfirmed")
    return {
        "a": a,
        "b": b,
        "grain": "call",
        "strategy": "interference",
        "preemption_bound": 1,
        "exhausted": False,
        "verdict": verdict,
        "reason": reason,
        "duration_s": 0.0,
        **dict.fromkeys((*counts, "drift"), 0),
    }
