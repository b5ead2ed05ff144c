"""Which schedule is running in this process: where points and gates find the baton."""

from __future__ import annotations

from fxrace.probe.explore.baton import Baton


class Current:
    """``baton`` is None between schedules, when points and gates let everybody pass."""

    def __init__(self) -> None:
        self.baton: Baton | None = None

    def reach(self, what: str, at_most: int | None = None) -> None:
        """The current thread is at a point, if a schedule runs and it takes part."""
        if self.baton is not None:
            self.baton.reach(what, at_most)
