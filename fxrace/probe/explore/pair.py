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

from fxrace.probe.explore.guarded import before_hooks
from fxrace.probe.explore.interference import explore
from fxrace.probe.explore.interference_course import Prepared
from fxrace.probe.explore.interference_fork import End, Say, forked
from fxrace.probe.explore.interference_reference import Known
from fxrace.probe.explore.interference_states import Reader
from fxrace.probe.explore.unexplored import quiet, refusal, unexplored
from fxrace.probe.operations import Cost, Operation, Reuse, load
from fxrace.probe.recorder import Recorder
from fxrace.probe.zygote import thread_count
from fxrace.records.trial import Trial

_PAIR_S = 1800.0
_SPARES = 2
#: Two more than there are stops: B runs before and again after A, too.
_FRESH = {Cost.CHEAP: 122, Cost.MEDIUM: 62, Cost.EXPENSIVE: 12}
_ABOUT = {"grain": "call", "strategy": "interference"}


def run(trial: Trial, recorder: Recorder) -> None:
    """Explore the pairs that the knobs name. Settings: ``budget``, a factor on the stops."""
    device = str(trial.settings.get("device") or "cpu")
    factor = float(trial.settings.get("budget") or 1.0)
    a, known = trial.knobs["a"], Known()
    quiet()
    start_autograd(device)
    for b in filter(None, trial.knobs["b"].split(",")):
        recorder.emit("note", text=f"pair {a} {b}")
        _pair(a, b, device, factor, known, recorder)


run.unhooked = True  # type: ignore[attr-defined]
run.before_hooks = before_hooks  # type: ignore[attr-defined]


def start_autograd(device: str) -> None:
    """Let autograd's engine count its devices now, while there are none.

    A CUDA build without a GPU gets a stand-in for the missing device when the first fake tensor
    is made, and it claims eight; an engine that starts later starts a thread for each, and a
    process with threads cannot be forked.
    """
    import torch

    if device == "cpu":
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    x = torch.ones(1, requires_grad=True)
    torch.autograd.grad(x * 1, x)


def _pair(a: str, b: str, device: str, factor: float, known: Known, recorder: Recorder) -> None:
    """One pair in a fork. Whatever happens, one ``pair`` event comes of it."""

    def body(say: Say) -> None:
        _explore(a, b, device, factor, known, recorder)
        say({"is": "known", "known": known})

    heard = forked(body, limit_s=_PAIR_S, watchdog=False)
    last = heard.last("known")
    if last is not None:
        known.update(last["known"])
        return
    broken = heard.last("broken")
    reason = broken["reason"] if broken else f"the driver {heard.end.value} {heard.signal or ''}"
    if heard.end is End.SILENT:
        reason = f"not ended after {_PAIR_S:.0f} s"
    recorder.emit("pair", **unexplored(a, b, "inconclusive", reason.strip(), **_ABOUT))


def _explore(a: str, b: str, device: str, factor: float, known: Known, recorder: Recorder) -> None:
    refused = refusal((a, b), device)
    if refused is not None:
        recorder.emit("pair", **unexplored(a, b, *refused, **_ABOUT))
        return
    prepared = prepare(load(a), load(b))
    threads = thread_count()
    if threads != 1:
        reason = f"preparing left {threads} threads, and a fork would lose all but one"
        recorder.emit("pair", **unexplored(a, b, "inconclusive", reason, **_ABOUT))
        return
    explore(prepared, recorder.emit, known, factor=factor)


def prepare(a: Operation, b: Operation) -> Prepared:
    """Subjects of both, in this process. B has as many as its runs can spoil."""
    count = _FRESH[b.cost] if b.reuse is Reuse.FRESH else _SPARES
    reader = Reader()
    a_subject = a.prepare()
    return Prepared(
        a=a,
        b=b,
        a_subject=a_subject,
        b_subjects=[b.prepare() for _ in range(count)],
        reader=reader,
    )
