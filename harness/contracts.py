"""What a pluggable part of the harness must be. One contract per axis folder.

Every file in an axis folder holds one module-level ``part``. Its docstring's first line is the
text of ``--help``; ``default=True`` puts it into a sweep that names no values. A part is built
anew for each trial, so it may keep state.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from fxrace.records.outcome import DrafterSpeed

if TYPE_CHECKING:
    import torch
    from torch import Tensor


T = TypeVar("T")


class Phase(str, Enum):
    """When a call happens. On CUDA, RECOMPUTE and BACKWARD run on autograd's device threads."""

    WARMUP = "warmup"
    FORWARD = "forward"
    RECOMPUTE = "recompute"
    STEP = "step"


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """One place where the loop may trace or compile.

    ``site`` is ``"step"`` (a whole optimizer step), or a call that may be compiled:
    ``"attention"``, ``"layer"`` (around attention) or ``"loss"`` (one chunk).
    ``drafter`` owns the call whichever thread makes it: locks are keyed by it, never by thread.
    ``key`` separates calls that compile separately (shapes, grad mode).
    """

    site: str
    drafter: int
    phase: Phase
    key: tuple[Any, ...] = ()

    @property
    def compiled(self) -> bool:
        """True for a call that may trace or compile, as opposed to the step around it."""
        return self.site != "step"


class Locking(Protocol):
    """axis ``locking``: ``build() -> Locking``. Runs ``work`` under the strategy's protection.

    Must be callable from any thread, reentrantly for one drafter, and must return or raise what
    ``work`` does. ``close`` is called once at the end of the trial. A builder with a parameter
    ``recorder`` gets the trial's, for ``NamedLock``.
    """

    def around(self, call: Call, work: Callable[[], T]) -> T: ...

    def close(self) -> None: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Terms:
    """Additive pieces of the loss over one chunk of blocks (all scalars, fp32).

    ``numerator`` = sum m*w*CE carries the gradient; ``denominator`` = sum m*w; ``correct`` and
    ``count`` are over supervised slots.
    """

    numerator: Tensor
    denominator: Tensor
    correct: Tensor
    count: Tensor


ChunkFn = Callable[..., "tuple[Tensor, Tensor, Tensor, Tensor]"]


class Checkpoint(Protocol):
    """axis ``checkpoint``: ``build() -> Checkpoint``. Both functions take the phase first.

    ``layer(fn, *tensors)`` runs one draft layer, the compiled attention inside it;
    ``chunk(fn, *tensors)`` runs one chunk of the loss and returns the four tensors of Terms
    (numerator, denominator, correct, count), of which only the first carries a gradient.
    ``fn(phase, *tensors)`` is called with FORWARD first and RECOMPUTE when run again; a part
    whose attribute ``recomputes`` is True does that in every step.
    """

    def layer(self, fn: Callable[..., Tensor], *tensors: Tensor) -> Tensor: ...

    def chunk(self, fn: ChunkFn, *tensors: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]: ...


class Tracing(str, Enum):
    """When an attention part enters a tracer: on no call, once per key, or on every call."""

    NEVER = "never"
    PER_KEY = "per_key"
    EVERY_CALL = "every_call"


class Attention(Protocol):
    """axis ``attention``: ``build(device, drafter, counters) -> Attention``; one per drafter.

    ``fused`` is True when the part promises that scores are never materialised. A part may have
    an attribute ``tracing: Tracing`` (without it: PER_KEY). ``counters`` is a
    ``harness.figures.counters.Counters``; calls are counted for the part, dense falls by the part.
    ``plan`` prepares the DFlash mask of ``harness.model.mask`` for one batch; for packed rows it
    gets ``since`` i64 [b, N] too, the first token that a block may see, and else no fifth argument.
    ``attend`` takes q [b, n_q, Q, d] and k, v [b, n_kv, S+Q, d] and returns [b, n_q, Q, d].
    """

    fused: bool

    def plan(
        self, anchors: Tensor, keep: Tensor, context: int, block: int, since: Tensor | None = None
    ) -> Any: ...

    def attend(self, q: Tensor, k: Tensor, v: Tensor, plan: Any) -> Tensor: ...


class Loss(Protocol):
    """axis ``loss``: ``build(preset) -> Loss``. Additive over chunks, so memory is bounded.

    ``hidden`` [b, N, B-1, h] (a slot that predicts nothing is left out); ``labels`` i64 and
    ``weights`` f32 [b, N, B-1] (0 = not supervised); ``head`` [V, h], frozen. A builder with
    parameters ``objective``, ``device``, ``run`` gets the trial's objective, the drafter's device
    and a ``harness.compiling.Run`` for its compiled calls. An attribute ``recomputes`` says
    whether logits are computed a second time; None or missing: as the checkpoint part does.
    """

    def terms(
        self,
        hidden: Tensor,
        labels: Tensor,
        weights: Tensor,
        head: Tensor,
        checkpoint: Checkpoint,
    ) -> Terms: ...


class Layers(Protocol):
    """axis ``layers``: ``build(preset) -> Layers``: the drafter's forward around attention.

    Arguments and result of ``hidden`` are those of ``Drafter.forward``. A builder with parameters
    ``device``, ``run``, ``mode`` gets the drafter's device, a ``harness.compiling.Run`` and the
    compile mode.
    """

    def hidden(
        self,
        drafter: Any,
        features: Tensor,
        noise: Tensor,
        anchors: Tensor,
        *,
        attend: Callable[..., Tensor],
        run_layer: Callable[..., Tensor],
    ) -> Tensor: ...


class Graphs(Protocol):
    """axis ``cudagraphs``: ``build() -> Graphs``; one per drafter and per target.

    ``mode`` goes to ``torch.compile`` (None: stock). ``run(key, inputs, work, module)`` calls
    ``work(*inputs)``, or replays it: a drafter's step leaves gradients in ``module`` and returns
    scalars, a target's forward returns features and comes with a module that has no weights.
    """

    mode: str | None

    def run(
        self,
        key: tuple[Any, ...],
        inputs: tuple[Tensor, ...],
        work: Callable[..., tuple[Tensor, ...]],
        module: torch.nn.Module,
    ) -> tuple[Tensor, ...]: ...


class Rehearsal(Protocol):
    """What a warm-up may do with one drafter: forward and backward, nothing learned."""

    drafter: int

    def rehearse(self, context: int) -> None:
        """One forward and backward on dummy rows of this context length; drops gradients."""
        ...


class Warmup(Protocol):
    """axis ``warmup``: ``build() -> Warmup``. A builder with parameters ``plan``, ``names`` gets
    the trial's plan and its parts by axis.

    ``before_threads`` runs on the main thread before any drafter thread exists.
    ``in_drafter`` runs on a drafter's own thread before its first step; ``others`` is the
    number of drafters, so that a strategy can wait for all of them (bounded).
    """

    def before_threads(self, rehearsals: Sequence[Rehearsal], contexts: Sequence[int]) -> None: ...

    def in_drafter(self, rehearsal: Rehearsal, contexts: Sequence[int], others: int) -> None: ...


class Execution(Protocol):
    """axis ``execution``: ``build(assembly) -> Execution``; runs the whole training."""

    def run(self) -> None: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Summary:
    """The ``summary`` event: the figures of a run that reached its end.

    Rates cover all drafters in steady state: what they did in steps in which their thread
    compiled nothing (the first step never counts), over the time that any of those steps took.
    Drafters that run one after the other are not added up as if they ran side by side.
    ``drafters`` are those that finished, each over its own share of the same steps.
    """

    steps: int
    drafters_done: int
    draft_slots_per_s: float
    context_tokens_per_s: float
    rows_per_s: float
    tflops: float
    mfu: float | None
    peak_memory_bytes: int
    oversubscribed: bool
    hfu: float | None = None
    anchors_per_s: float = 0.0
    windows: Any = None
    predicted_memory_bytes: int = 0
    drafters: tuple[DrafterSpeed, ...] = ()
