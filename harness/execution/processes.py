"""One process per slot, as public trainers do it: the control arm, where no thread meets another.

Features travel through torch.multiprocessing (shared memory on the CPU, CUDA IPC on GPUs), sums
through a process group (gloo, NCCL). Each target has a bounded queue to each drafter; routing is
fixed, so a drafter knows whose batch comes next, and the axes queue and freeze do not apply.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from fxrace.probe.part import Part
from fxrace.probe.recorder import Recorder
from harness.config import Plan
from harness.parts import select
from harness.processes.parent import Parent
from harness.roles import Turn

NO_GIL = "GIL share not measured: each slot has an interpreter lock of its own"
SAYS = "each slot is a process with one training thread: there is nothing for the hooks to watch"


class Processes:
    """Runs the whole training once, in processes of its own: it is given a plan, not slots."""

    separate = True

    def __init__(
        self,
        plan: Plan,
        knobs: Mapping[str, str],
        roots: Sequence[Path],
        bound_s: float,
        *,
        recorder: Recorder,
    ) -> None:
        recorder.emit("note", text=SAYS)
        if plan.gil_share:
            recorder.emit("note", text=NO_GIL)
        together = select(knobs, roots)["sync"].build().together
        self._drafters = len(plan.drafter_devices)
        self._parent = Parent(
            plan=plan, knobs=knobs, roots=tuple(roots), recorder=recorder, together=together,
            bound_s=bound_s,
        )  # fmt: skip

    def run(self) -> None:
        """Start a process per slot and wait for all of them. Failures are recorded."""
        self._parent.run()

    @property
    def turns(self) -> tuple[Sequence[Turn], ...]:
        """The finished steps of each drafter; empty for one that did not finish."""
        done = self._parent.finished
        return tuple(done[i].turns if i in done else () for i in range(self._drafters))

    @property
    def peak_memory_bytes(self) -> int:
        """Peaks of all processes, added up."""
        return self._parent.peak_memory_bytes


part = Part(build=Processes)
