"""Grain ``region``: a thread offers to stop where a region begins, has borrowed, and ends.

Blocks of settings (``config``) are no points: a compile has hundreds and they share nothing
since 2.12. Finer grains see what they do.
"""

from __future__ import annotations

from collections.abc import Callable

from fxrace.probe.explore.current import Current
from fxrace.probe.regions import Regions

_NO_POINT = frozenset({"config"})


def attach(regions: Regions, current: Current) -> Callable[[], None]:
    """Points at the borders of regions; the result takes them off again."""

    def heard(edge: str, kind: str) -> None:
        if kind not in _NO_POINT:
            current.reach(f"{kind}:{edge}")

    return regions.listen(heard)
