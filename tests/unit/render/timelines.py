"""Timelines to draw: one with a collision for every failing trial, and one of any length."""

from __future__ import annotations

from fxrace.records.document import SweepDocument
from fxrace.records.hazard import Hazard, Layer
from fxrace.records.page import Exhibits, Lane, LaneKind, Mark, MarkKind, Span, Timeline
from fxrace.records.stuck import Edge
from fxrace.records.verdict import Verdict
from tests.unit.render import documents

LANES = (
    Lane("MainThread", 1, LaneKind.MAIN),
    Lane("drafter-0", 2, LaneKind.THREAD),
    Lane("drafter-1", 3, LaneKind.THREAD),
    Lane("Dummy-4", 4, LaneKind.DEVICE),
)
TEXTS = ("compile", "trace", "lock wait", "forward", "<lambda>", "exec_lock, held by drafter-0")


def collided() -> Timeline:
    spans = (
        Span(1, 0.5, 2.0, 0, 0, 3), Span(1, 1.2, 1.6, 1, 1, 4), Span(2, 0.6, 1.1, 0, 2, 5),
        Span(2, 1.4, 1.9, 0, 1, 4), Span(3, 2.1, None, 0, 0, 3),
    )  # fmt: skip
    marks = (
        Mark(2, 1.4, MarkKind.COLLISION, "two traces overlap"),
        Mark(2, 1.95, MarkKind.RAISED, "AssertionError: <b>no</b>"),
    )
    return Timeline(lanes=LANES, spans=spans, marks=marks, texts=TEXTS, end_s=3.0)


def long_one(*, spans: int) -> Timeline:
    many = tuple(Span(1 + n % 3, n / 100, n / 100 + 0.009, n % 4, n % 3, 4) for n in range(spans))
    return Timeline(lanes=LANES, spans=many, marks=(), texts=TEXTS, end_s=spans / 100, left_out=7)


def exhibits(document: SweepDocument) -> Exhibits:
    """All that a page can show beside its document."""
    return Exhibits(
        scripts={row.fingerprint: "import torch\n\nprint('</pre>')\n" for row in document.findings},
        timelines={t.digest: collided() for t in document.trials if t.verdict.failed},
        waits={t.digest: RING for t in document.trials if t.stacks},
        hazards=(KNOWN,),
    )


RING = (
    Edge(waiter="drafter-0", waits_for="autograd's device thread", held_by="autograd cuda:0",
         stack=documents.STACK_A),
    Edge(waiter="autograd cuda:0", waits_for="torch._dynamo.compile_lock", held_by="drafter-1",
         stack=documents.STACK_A[3:]),
    Edge(waiter="drafter-1", waits_for="exec_lock", held_by="drafter-0",
         stack=documents.STACK_B),
)  # fmt: skip
KNOWN = Hazard(
    slug="fx-flag-crash", title="a compiled call meets another thread's trace", layer=Layer.FX,
    states=("fx.tracing_flag",), regions=(), patterns=("exception",), racy=Verdict.RAISED,
    remedy="one lock round every trace", since="2.6", fixed_in="2.14",
    evidence={"2.13.0": "RAISED 5 of 5; guarded CLEAN 5 of 5",
              "2.14.1": "CLEAN 5 of 5; guarded CLEAN 5 of 5"},
)  # fmt: skip
