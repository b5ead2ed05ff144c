"""A Hazard: a known kind of thread-unsafety, declared in a repro's header and nowhere else.

A header is the literal dictionary ``HAZARD`` at the top of ``repros/<slug>.py``; it is read
without running the script. Its keys are the fields below less ``slug`` (the file's name); keys
with a default may be left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from fxrace.records.verdict import Verdict

REPRODUCED = 66
NOT_APPLICABLE = 77


class Layer(str, Enum):
    """The part of torch whose State is shared."""

    FX = "fx"
    DYNAMO = "dynamo"
    CONFIG = "config"
    GUARDS = "guards"
    AOT = "aot"
    AUTOGRAD = "autograd"
    CHECKPOINT = "checkpoint"
    FUNCTORCH = "functorch"
    INDUCTOR = "inductor"
    EXPORT = "export"
    CUDAGRAPHS = "cudagraphs"
    TRITON = "triton"
    FRONT_END = "front_end"


@dataclass(frozen=True, kw_only=True, slots=True)
class Hazard:
    """``states`` are names of registry rows; ``regions`` kinds of region; ``patterns`` names of
    detectors. A finding is of this hazard when its pattern is among ``patterns``, its State among
    ``states`` (a finding without a State: when ``states`` is empty), and, where ``regions`` is
    not empty, one of its sides is in one of them; and each of ``waits_for`` (locks and threads, as
    a hang tells them) is in what one of its sides did. Empty ``patterns`` claim no finding: no hook
    sees what the repro shows, or nothing tells it apart from its neighbours.

    ``racy`` is the verdict of the racy twin, the guarded one's is CLEAN. ``since`` and
    ``fixed_in`` are torch versions ``"2.13"``: the first known to have it, the first without;
    None where no end is known. ``evidence`` is torch version -> what was seen there. ``device``
    is ``cpu`` or ``cuda``. ``timeout_s`` bounds one twin, import of torch included.
    """

    slug: str
    title: str
    layer: Layer
    states: tuple[str, ...]
    regions: tuple[str, ...]
    patterns: tuple[str, ...]
    racy: Verdict
    remedy: str
    since: str
    fixed_in: str | None = None
    evidence: Mapping[str, str]
    references: tuple[str, ...] = ()
    device: str = "cpu"
    silent: bool = False
    waits_for: tuple[str, ...] = ()
    timeout_s: float = 120.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """A repro that declares no usable Hazard, and why, in a clause."""

    slug: str
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Catalogue:
    """All hazards of one folder by slug, and the files that declare none."""

    hazards: tuple[Hazard, ...]
    problems: tuple[Problem, ...] = ()
