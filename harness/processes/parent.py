"""The first process of ``execution=processes``: starts the slots, records for them, ends them.

Slots come from a fork server that has imported torch once and touched no device. Whatever ends
the run, no slot outlives it: those that have not ended ``GRACE_S`` after the stop are killed.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

import torch.multiprocessing as multiprocessing

from fxrace.probe.failure import described
from fxrace.probe.recorder import Recorder
from harness.config import Plan
from harness.processes.orders import Finished, Links, Order
from harness.processes.worker import work

GRACE_S = 1.0
LOOK_S = 0.5
BEAT_S = 5.0


class Parent:
    """Runs the slots of one plan once."""

    def __init__(
        self,
        *,
        plan: Plan,
        knobs: Mapping[str, str],
        roots: tuple[Path, ...],
        recorder: Recorder,
        together: bool,
        bound_s: float,
    ) -> None:
        self._plan, self._recorder = plan, recorder
        self._knobs, self._roots = dict(knobs), roots
        self._alone = not (together or plan.fail_fast)
        self._bound_s = bound_s
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["harness.processes.worker"])
        self._links = self._linked()
        self._slots: dict[Any, tuple[str, int, Any]] = {}
        self._gone: list[tuple[Any, str]] = []
        self._last_s = float("inf")
        self._left_drafters: set[int] = set()
        self._waiting: set[tuple[str, int]] = set()
        self.finished: dict[int, Finished] = {}
        self.peak_memory_bytes = 0

    def run(self) -> None:
        """Start everything, wait for its end or the bound. Failures are recorded, not raised."""
        self._recorder.emit("phase", name="warmup")
        with tempfile.TemporaryDirectory(prefix="meet-") as folder:
            try:
                self._start(str(Path(folder) / "drafters"))
                self._serve()
            finally:
                self._end()

    def _linked(self) -> Links:
        make, plan = self._context, self._plan
        drafters = range(len(plan.drafter_devices))
        return Links(
            lanes=tuple(
                tuple(make.Queue(plan.preset.queue_depth) for _ in drafters)
                for _ in plan.target_devices
            ),
            gone=tuple(make.Event() for _ in drafters),
            go=make.Event(),
            stop=make.Event(),
            done=make.Event(),
        )

    def _start(self, meet: str) -> None:
        counts = (
            ("drafter", len(self._plan.drafter_devices)),
            ("target", len(self._plan.target_devices)),
        )
        for role, count in counts:
            for index in range(count):
                order = Order(
                    role=role, index=index, plan=self._plan, knobs=self._knobs,
                    roots=self._roots, meet=meet,
                )  # fmt: skip
                here, there = self._context.Pipe(duplex=False)
                process = self._context.Process(
                    target=work, args=(order, self._links, there), name=f"{role}-{index}",
                    daemon=True,
                )  # fmt: skip
                process.start()
                there.close()
                self._slots[here] = (role, index, process)
                self._waiting.add((role, index))
        self._left_drafters = set(range(len(self._plan.drafter_devices)))

    def _serve(self) -> None:
        self._last_s, beat = time.monotonic() + self._bound_s, time.monotonic()
        while self._slots and (left := self._last_s - time.monotonic()) > 0:
            for pipe in wait(list(self._slots), min(left, LOOK_S)):
                self._hear(pipe)
            if not self._waiting and not self._links.go.is_set():
                self._recorder.emit("phase", name="run")
                self._links.go.set()
            if not self._left_drafters:
                self._links.done.set()
            if self._waiting and time.monotonic() > beat + BEAT_S:
                beat = time.monotonic()
                self._recorder.emit("beat", what="slots are starting")

    def _hear(self, pipe: Any) -> None:
        role, index, _ = self._slots[pipe]
        try:
            message = pipe.recv()
        except (EOFError, OSError):
            self._lost(pipe)
            return
        if isinstance(message, Finished):
            self._leave(pipe, "done" if message.through else "stopped")
            self.peak_memory_bytes += message.peak_memory_bytes
            if role == "drafter":
                self.finished[index] = message
            return
        kind, data = message
        if kind == "phase":
            self._waiting.discard((role, index))
        elif kind != "tolerance" or (role, index) == ("drafter", 0):
            self._recorder.emit(kind, **data)
        if kind == "raised":
            self._leave(pipe, "raised")

    def _lost(self, pipe: Any) -> None:
        """A slot's process ended without a word: killed, or out of memory."""
        role, index, process = self._slots[pipe]
        process.join(LOOK_S)
        error = ChildProcessError(f"its process ended with exit status {process.exitcode}")
        self._recorder.emit("raised", role=f"{role}-{index}", error=described(error), others=[])
        self._leave(pipe, "killed")

    def _leave(self, pipe: Any, how: str) -> None:
        role, index, process = self._slots.pop(pipe)
        self._waiting.discard((role, index))
        if role == "drafter":
            self._left_drafters.discard(index)
            self._links.gone[index].set()
        if how in ("raised", "killed") and (role == "target" or not self._alone):
            self._links.stop.set()
            self._last_s = min(self._last_s, time.monotonic() + GRACE_S)
        pipe.close()
        self._gone.append((process, how))

    def _end(self) -> None:
        """No slot is left, and how each ended is on record, when it had."""
        last_s = min(self._last_s, time.monotonic() + GRACE_S)
        self._links.stop.set()
        self._links.done.set()
        left = [*self._gone, *((process, "killed") for _, _, process in self._slots.values())]
        for process, _ in left:
            process.join(max(0.0, last_s - time.monotonic()))
        for process, _ in left:
            if process.is_alive():
                process.kill()
        for process, how in left:
            process.join(LOOK_S)
            self._recorder.emit("ended", role=process.name, how=how)
        for lane in (lane for lanes in self._links.lanes for lane in lanes):
            with suppress(OSError, ValueError):
                lane.cancel_join_thread()
                lane.close()
