"""One drafter and its optimizer: a whole training step, and a rehearsal of one.

The same code runs on a drafter's thread, on main while warming up, and in the single-threaded
oracle. Nothing draws from a global generator: every step seeds its own from (seed, drafter,
step), so a step's result does not depend on what other threads did.
"""

from __future__ import annotations

import hashlib
import itertools
import threading
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import torch
from torch import Tensor

from harness.channel import Stopped
from harness.config import Plan
from harness.contracts import Attention, Call, Graphs, Locking, Phase, Tracing
from harness.data.corpora import corpus_of
from harness.model.drafter import build_drafter
from harness.model.target import Borrowed
from harness.model.training import Batch, Blocks, Gear, draft_terms, draw_blocks
from harness.numerics import Precision, Schedule, Sync

T = TypeVar("T")
SMALLEST = 1e-8


@dataclass(frozen=True, kw_only=True, slots=True)
class Method:
    """The live parts that decide how this drafter's gradients become updates."""

    precision: Precision
    schedule: Schedule
    sync: Sync
    graphs: Graphs


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """Loss and gradient norm (before clipping) of one step; ``slots`` were supervised, of which
    ``correct`` were predicted right. ``lock_wait_s`` was spent waiting in the locking part.
    ``reach``, of packed rows: tokens of the context that a block saw, mean over all blocks.
    """

    loss: float
    grad_norm: float
    slots: int
    correct: int
    lock_wait_s: float = 0.0
    reach: float | None = None


class Drafting:
    """Drafter number ``index`` in training on its device. Not to be used by two threads at once.

    Once ``stop`` is set, its next call that goes through the locking part raises Stopped.
    """

    def __init__(
        self,
        *,
        index: int,
        plan: Plan,
        gear: Gear,
        method: Method,
        borrowed: Borrowed,
        stop: threading.Event | None = None,
    ) -> None:
        preset = plan.preset
        self.index, self.device = index, torch.device(plan.drafter_devices[index])
        self._plan, self._borrowed, self._method = plan, borrowed, method
        self._lock = _Keyed(gear.locking, gear.attention, stop or threading.Event())
        self._gear = replace(gear, locking=self._lock)
        # Drafters that share gradients are replicas: they must start from the same weights.
        start = 0 if method.sync.together else index
        _, dtype = method.precision.dtypes(self.device.type)
        self.module = build_drafter(
            preset, seed=seed_of(plan.seed, start), device=self.device, dtype=dtype
        )
        self._updates = method.precision.updates(self.module, preset)

    def steps(self, batch: Batch, step: int) -> Generator[list[Tensor], None, Result]:
        """One training step on a batch that lies on the drafter's device.

        Yields tensors that must hold their sums over all drafters when it goes on. Where drafters
        never meet it yields nothing and is one locked step; else the lock is not held while
        others are waited for.
        """
        generator = torch.Generator().manual_seed(seed_of(self._plan.seed, self.index, step))
        factor = self._method.schedule.factor(step, self._plan.steps)
        waited = self._lock.waited_s
        if self._method.sync.together:
            figures = self._as_step(Phase.STEP, lambda: self._backward(batch, generator))
            yield from self._shared(step, figures[1])
            norm = self._updates.apply(factor)
            yield from self._averaged(step)
        else:
            figures, norm = self._as_step(
                Phase.STEP,
                lambda: (self._backward(batch, generator), self._updates.apply(factor)),
            )
        loss, _, correct, count, *reach = figures
        # One copy to the host for all figures; it also makes the step's time true on CUDA.
        values = torch.stack((loss, norm, correct, count)).tolist()
        return Result(
            loss=values[0],
            grad_norm=values[1],
            correct=int(values[2]),
            slots=int(values[3]),
            lock_wait_s=self._lock.waited_s - waited,
            reach=float(reach[0]) if reach else None,  # lies on the host: nothing waits for it
        )

    def train(self, batch: Batch, step: int) -> Result:
        """One step of a drafter that is alone."""
        work = self.steps(batch, step)
        while True:
            try:
                next(work)
            except StopIteration as done:
                result: Result = done.value
                return result

    def rehearse(self, context: int) -> None:
        """Forward and backward on made-up features; gradients dropped, nothing learned."""
        generator = torch.Generator().manual_seed(seed_of(self._plan.seed, self.index, -context))
        batch = self._made_up(context, generator)

        def work() -> None:
            self._backward(batch, generator)
            self._updates.drop()
            if self.device.type == "cuda":
                torch.cuda.current_stream(self.device).synchronize()

        self._as_step(Phase.WARMUP, work)

    def by_both(self, gear: Gear, batch: Batch) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """Loss and every weight's gradient by name, fp32, on one batch: by its own parts and by
        others. Nothing is learned.
        """
        mine, theirs = (
            self._as_step(Phase.WARMUP, partial(self._gradients, batch, gear))
            for gear in (self._gear, replace(gear, locking=self._lock))
        )
        return mine, theirs

    def _gradients(self, batch: Batch, gear: Gear) -> dict[str, Tensor]:
        generator = torch.Generator().manual_seed(seed_of(self._plan.seed, self.index))
        try:
            loss, *_ = self._backward(batch, generator, gear)
            weights = self.module.named_parameters()
            found = {"loss": loss, **{name: weight.grad for name, weight in weights}}
            return {name: value.float().clone() for name, value in found.items()}
        finally:
            self._updates.drop()

    def _as_step(self, phase: Phase, work: Callable[[], T]) -> T:
        call = Call(site="step", drafter=self.index, phase=phase)
        return self._lock.around(call, work)

    def _shared(self, step: int, denominator: Tensor) -> Iterator[list[Tensor]]:
        members = len(self._plan.drafter_devices)
        return self._method.sync.gradients(step, self._updates.gradients(), denominator, members)

    def _averaged(self, step: int) -> Iterator[list[Tensor]]:
        members = len(self._plan.drafter_devices)
        yield from self._method.sync.parameters(step, self._updates.parameters, members)
        self._updates.publish()

    def _backward(
        self, batch: Batch, generator: torch.Generator, gear: Gear | None = None
    ) -> tuple[Tensor, ...]:
        """Gradients into the module; the step's own loss, denominator, correct and count, and for
        packed rows what ``Blocks.reach`` says, on the host. Another gear than its own runs live.
        """
        own, sync = gear is None or gear is self._gear, self._method.sync
        gear = gear or self._gear
        drawn = draw_blocks(
            batch, self._plan.preset.drafter, self._borrowed.mask_token, generator,
            gear.convention,
        )  # fmt: skip
        blocks = drawn.on(self.device)

        def work(features: Tensor, *drawn: Tensor) -> tuple[Tensor, ...]:
            terms = draft_terms(
                self.module, self._borrowed, features, Blocks.from_tensors(*drawn), gear=gear,
                index=self.index,
            )  # fmt: skip
            weight = terms.denominator.detach().clamp_min(SMALLEST)
            (terms.numerator / sync.divisor(weight)).backward()
            loss = terms.numerator.detach() / weight
            return loss, weight, terms.correct.detach(), terms.count.detach()

        inputs = (batch.features, *blocks.tensors)
        if own:
            figures = self._method.graphs.run((batch.context,), inputs, work, self.module)
        else:
            figures = work(*inputs)
        return figures if drawn.reach is None else (*figures, drawn.reach)

    def _made_up(self, context: int, generator: torch.Generator) -> Batch:
        preset = self._plan.preset
        rows = corpus_of(self._plan).rows(
            seed=self._plan.seed, index=-1 - self.index, rows=preset.rows, context=context
        )
        width = preset.drafter.captures * preset.target.hidden
        features = torch.randn((preset.rows, context, width), generator=generator)
        return Batch.of(rows, features.to(self._borrowed.embedding.dtype)).on(self.device)


class _Keyed:
    """The locking part as this drafter uses it.

    Gives each call of an attention part that traces on every call a key of its own (nothing is
    warm), and adds up how long calls waited before their work began. Waits of autograd's threads
    may be lost in a rare clash of two additions; no lock is worth that. Stopping is looked at
    before and after the wait: a whole step with its compiles can take minutes, one call of it not.
    """

    def __init__(self, locking: Locking, attention: Attention, stop: threading.Event) -> None:
        self._locking, self._stop = locking, stop
        tracing = getattr(attention, "tracing", Tracing.PER_KEY)
        self._always_cold = tracing is Tracing.EVERY_CALL
        self._numbers = itertools.count()
        self.waited_s = 0.0

    def around(self, call: Call, work: Callable[[], T]) -> T:
        if self._always_cold and call.site == "attention":
            call = replace(call, key=(*call.key, next(self._numbers)))
        self._look()
        came = time.monotonic()

        def begun() -> T:
            self.waited_s += time.monotonic() - came
            self._look()
            return work()

        return self._locking.around(call, begun)

    def _look(self) -> None:
        if self._stop.is_set():
            raise Stopped

    def close(self) -> None:
        self._locking.close()


def seed_of(*parts: int) -> int:
    """A 63-bit seed out of some numbers, the same on every machine."""
    text = ":".join(map(str, parts)).encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big") >> 1
