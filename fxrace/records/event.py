"""What a trial process records while it runs: Events in one order, together a Trace.

A trial writes one JSON object per line to ``events.jsonl``; a file that ends in the middle of
a line is a Trace up to the line before. The vocabulary of ``kind`` and its ``data``:

========== =================================================================================
kind       data
========== =================================================================================
phase      name: setup | warmup | run | check | end
step       drafter, step, context (tokens per row), loss, grad_norm, step_s, of which wait_s
           (until a batch was handed over), handoff_s (the part of it in which the batch lay
           ready), stall_s (then, on the device, until its features existed), lock_wait_s; rows,
           anchors, slots (supervised draft slots), context_tokens, compiles (in this thread, so
           far)
tolerance  loss, grad_norm: how far, relatively, the run's number formats let two equal runs differ
plain      distance, where, context, allowed: how far, relatively, the loss (where: loss), a
           weight's gradient or a target's first layer (where: features) lies at most from plain
           PyTorch's on the same batch; of references
queue      drafter, full_s, empty_s, depths {items held when one was taken: how often}
balance    text: the predicted balance of targets and drafters, and memory
raised     role, error {type, message, frames, causes[]}, others[{thread, region, frames}]
ended      role, how: done | stopped (because another failed) | raised | killed
region     edge: enter | exit, region (kinds: below), name, number; an exit by an error also
           has error and others, as ``raised`` has; an enter may have frames, and others where
           another thread was in a region at that moment
met        state, frames, others: a call met this State while another thread had it borrowed
exclusive  name, frames, others: a second thread was in what the author said is exclusive
sync       edge: release | acquire, key, what: thread | queue | future | executor | event |
           barrier | backward | lock (key ``lock:<name>``; a thread's outermost hold) | with (a
           plain lock held by a block round a region); an acquire comes after every earlier
           release of its key
compile    code, reason (None for a first compile), duration_s, ok; may have frames, id (torch's,
           frame/attempt), entries (in the cache of this code before), limit, the recompile limit
           in force where it is not torch's default
executions compiled {thread: n}, eager {thread: n}: calls of compiled functions, by what they ran,
           as far as known (lower bounds); codes {code: {compiled, eager, entries}}, where known
config     setting, set {thread, value, frames}, seen {thread, value, frames}: a thread compiled
           under another value than another thread had set; equal values: under that thread's own
rng        name, differ (are the recomputed tensors others than the saved ones), frames, others: the
           recompute of a checkpoint left the CPU generator elsewhere than its forward had
attention  calls {thread: n}, dense {thread: n}, fused (what the part promises)
lock       edge: wait | got, lock, owner (thread name or None)
guard      edge: on | off, guard, keeps: the States of which each thread now has its own
gil        shares {thread: part of the looks at which it held the interpreter lock}, looks, rate
hold       region, released_by: call | overlap | bound | nobody, held_s
leak       state, attribute, before, after
blind      what, reason
absent     what, reason: what would be watched is not in this torch or machine; no blindness
skipped    reason
broken     part, reason
measured   values {name: bool, number or text}: what an arm of a claim's experiment saw
pair       a, b, grain, strategy, points, stopped, schedules (runs in all), preemption_bound,
           exhausted, slips, blocked, drift, differences, unconfirmed, verdict (``PairVerdict``),
           reason, duration_s: one pair of operations, explored
difference a, b, wrong: a | b | quiescent | again (b after both) | hung | crashed, tier, symptom,
           error (of the side that came out wrong, or None), state (a name of the registry, else
           ``module:attribute``, else None), proof (``interference_cause.Proof``), others_off,
           value {before, during, after}, point (where a was stopped), b_point (where b was, in a
           two-point schedule), count (stops with this effect), shown {k, n} (runs with this stop
           alone), region (what had the State borrowed), frames {a, b}, locks {a, b}, fingerprint
note       text
beat       what: a long wait that is no hang
summary    see ``harness.contracts.Summary``
========== =================================================================================

``frames`` are ``[file, line, function]``, innermost last.

Kinds of region: trace, make_fx, compile, aot, inductor, triton, cudagraph, lazy_backward,
checkpoint (its forward), recompute, rng (a recompute that sets the random state back), hop,
flex_eager, export, stance, config; and, on record only where something happens in them or a
second thread is in one too: dispatch_mode, annotate, preserve_meta, skip_lazy, fake (the context
of a fake kernel), intermediate_hooks, compiled_autograd, non_strict.

The keys of ``backward`` are ``backward:<n>`` (the caller releases it, a thread of the engine
acquires it) and ``backward:<n>:return`` (the other way); they are on record only for a backward
in which another thread entered a region, and the release may be written by that thread, in the
caller's name and at the caller's place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """One line of a trial's record. ``at_s`` is seconds since the trial process began."""

    at_s: float
    thread: str
    ident: int
    kind: str
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Trace:
    """The ordered events of one trial, and how many lines could not be read."""

    events: tuple[Event, ...] = ()
    unreadable: int = 0

    def of(self, *kinds: str) -> Iterator[Event]:
        """The events of these kinds, in order."""
        return (event for event in self.events if event.kind in kinds)

    def last(self, kind: str) -> Event | None:
        """The last event of this kind, or None."""
        return next((e for e in reversed(self.events) if e.kind == kind), None)
