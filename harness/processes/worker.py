"""One slot in its own process: builds its part of the loop, waits for the start, works, reports."""

from __future__ import annotations

import queue
import resource
import sys
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import torch
from torch import Tensor

from fxrace.probe.failure import described
from harness import parts
from harness.assembly import Shared, Workshop
from harness.channel import Stopped
from harness.devices import settle
from harness.figures.compiles import count_compiles
from harness.figures.counters import Counters
from harness.processes.orders import LOOK_S, Finished, Links, Order, Reporter
from harness.roles import Parcel, Trainer

MEETING_S = 120.0
"""How long drafters wait for each other in one sum before they give up."""
NEWS_S = 5.0
"""How long it may take until a drafter hears that a target has ended."""


def work(order: Order, links: Links, pipe: Any) -> None:
    """The process's main function: whatever fails is reported before it ends."""
    threading.current_thread().name = f"{order.role}-{order.index}"
    reporter = Reporter(pipe)
    try:
        turns = (_target if order.role == "target" else _drafter)(order, links, reporter)
        reporter.send(Finished(turns=turns, peak_memory_bytes=_peak(order)))
    except Stopped:
        reporter.send(Finished(turns=(), peak_memory_bytes=_peak(order), through=False))
    except BaseException as error:
        reporter.emit(
            "raised", role=f"{order.role}-{order.index}", error=described(error), others=[]
        )
    finally:
        # Only now: leaving the group makes the others fail, and the cause must be said first.
        if torch.distributed.is_initialized():
            torch.distributed.destroy_process_group()
        pipe.close()


def _built(order: Order, reporter: Reporter, device: str) -> tuple[Workshop, Counters, Shared]:
    settle(device, order.plan.preset.intraop_threads)
    recorder: Any = reporter
    chosen = parts.select(order.knobs, order.roots)
    workshop = Workshop(order.knobs, chosen, recorder)
    counters = Counters(recorder)
    return workshop, counters, Shared(workshop=workshop, plan=order.plan, counters=counters)


def _target(order: Order, links: Links, reporter: Reporter) -> tuple[Any, ...]:
    device = order.plan.target_devices[order.index]
    _, _, shared = _built(order, reporter, device)
    feeder = shared.feeder(order.index, shared.targets([device])[device])
    lanes = [
        _Lane(lane, gone, links.stop)
        for lane, gone in zip(links.lanes[order.index], links.gone, strict=True)
    ]
    _ready(links, reporter)
    feeder.serve(lanes, order.plan.steps * len(lanes))
    # What was sent lives in this process until it has been received.
    _until(links.done.wait, links)
    if links.stop.is_set():
        raise Stopped
    return ()


def _drafter(order: Order, links: Links, reporter: Reporter) -> tuple[Any, ...]:
    plan, index = order.plan, order.index
    device = plan.drafter_devices[index]
    workshop, counters, shared = _built(order, reporter, device)
    compiles = count_compiles(counters)
    borrowed = shared.targets([device])[device].borrowed
    attention, drafting = shared.drafting(index, borrowed)
    recorder: Any = reporter
    trainer = Trainer(drafting=drafting, plan=plan, recorder=recorder, compiles=compiles)
    warmup = workshop.make("warmup", plan=plan, names=workshop.names)
    warmup.before_threads([_Alone(trainer)], plan.preset.contexts)
    warmup.in_drafter(_Alone(trainer), plan.preset.contexts, 1)
    add = _group(order) if shared.sync.together else _nobody
    try:
        _ready(links, reporter)
        trainer.consume(_Lanes(order, links), add)  # type: ignore[arg-type]
    finally:
        shared.locking.close()
        counters.finish(fused=attention.fused)
    return tuple(trainer.turns)


def _ready(links: Links, reporter: Reporter) -> None:
    reporter.emit("phase", name="ready")
    _until(links.go.wait, links)


def _until(wait: Callable[[float], bool], links: Links) -> None:
    """Wait for an event. Raises Stopped when everybody shall stop."""
    while not wait(LOOK_S):
        if links.stop.is_set():
            raise Stopped


class _Alone:
    """The trainer as the only drafter there is: warm-ups wait for those before it."""

    drafter = 0

    def __init__(self, trainer: Trainer) -> None:
        self.rehearse = trainer.rehearse


class _Lane:
    """A target's end of its queue to one drafter, used as a ``Channel`` is."""

    def __init__(self, lane: Any, gone: Any, stop: Any) -> None:
        self._lane, self._gone, self._stop = lane, gone, stop

    def await_turn(self, position: int) -> bool:  # noqa: ARG002 - in order anyway
        return not self._over()

    def put(self, position: int, item: Parcel) -> bool:  # noqa: ARG002 - in order anyway
        made_s = item.made_s
        if item.ready is not None:
            item.ready.synchronize()  # an event may not cross; the features may
            made_s = time.monotonic()
        while not self._over():
            try:
                self._lane.put((item.batch, made_s), timeout=LOOK_S)
            except queue.Full:
                continue
            return True
        return False

    def _over(self) -> bool:
        return bool(self._gone.is_set() or self._stop.is_set())


class _Lanes:
    """A drafter's end: one queue per target, read in the order in which batches are routed."""

    def __init__(self, order: Order, links: Links) -> None:
        self._order, self._links = order, links
        self._step = 0

    def get(self) -> Parcel | None:
        """The next batch, or None after the last. Raises Stopped."""
        plan = self._order.plan
        if self._step == plan.steps:
            return None
        number = self._step * len(plan.drafter_devices) + self._order.index
        lane = self._links.lanes[number % len(plan.target_devices)][self._order.index]
        while not self._links.stop.is_set():
            try:
                batch, made_s = lane.get(timeout=LOOK_S)
            except queue.Empty:
                continue
            except (OSError, EOFError, RuntimeError):
                # What lies in a lane lives in the target's process. Where that has ended, the news
                # of it is on its way, and this is no failure of the drafter's own.
                if self._links.stop.wait(NEWS_S):
                    break
                raise
            self._step += 1
            return Parcel(batch=batch, made_s=made_s)
        raise Stopped


def _group(order: Order) -> Callable[[list[Tensor]], None]:
    """Joins the drafters' process group; the function that adds up over it."""
    device = torch.device(order.plan.drafter_devices[order.index])
    shared_gpu = len(set(order.plan.drafter_devices)) < len(order.plan.drafter_devices)
    nccl = device.type == "cuda" and not shared_gpu  # NCCL refuses two ranks on one GPU
    torch.distributed.init_process_group(
        "nccl" if nccl else "gloo",
        init_method=f"file://{order.meet}",
        rank=order.index,
        world_size=len(order.plan.drafter_devices),
        timeout=timedelta(seconds=MEETING_S),
    )

    def add(tensors: list[Tensor]) -> None:
        for tensor in tensors:
            torch.distributed.all_reduce(tensor)

    return add


def _nobody(tensors: list[Tensor]) -> None:
    raise RuntimeError(f"{len(tensors)} tensors to add up, and nobody to add them to")


def _peak(order: Order) -> int:
    if order.plan.device_type == "cuda":
        return int(torch.cuda.max_memory_allocated())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
