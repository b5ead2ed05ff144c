"""Names a cause. Computed from State, regions and frames; never from exception text.

A collision shows up as whatever the victim happened to be doing, so grouping by message files
one bug five times. With a known State the State and the two regions are the cause, and frames
are left out; without one, the three innermost torch frames and the innermost user frame stand
in for it. Sides are unordered and lines are dropped.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from fxrace.core.frames import is_torch, is_waiting, normalised
from fxrace.records.finding import Frame, Tier

ALGORITHM = "v1"


def fingerprint(
    tier: Tier, *, state: str | None, regions: Iterable[str] = (), key: Iterable[str] = ()
) -> str:
    """12 hex digits. ``key`` is whatever else names the cause, e.g. ``site(frames)``."""
    parts = [ALGORITHM, tier.value, state or "", *sorted(set(regions)), *key]
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:12]


def site(frames: tuple[Frame, ...]) -> tuple[str, ...]:
    """The innermost three torch frames and the innermost user frame, normalised."""
    innermost = [frame for frame in reversed(frames) if not is_waiting(frame)]
    torch = [normalised(frame) for frame in innermost if is_torch(frame)][:3]
    user = [normalised(frame) for frame in innermost if not is_torch(frame)][:1]
    return (*torch, *user)
