"""The hooks of one running program, put on when torch is there and taken off at its end.

Used by ``fxrace run`` (from torch's import to the end of the interpreter) and by
``fxrace.watch`` (for the length of a block). Whatever goes wrong here is recorded as blind and
never reaches the program.
"""

from __future__ import annotations

import atexit
from contextlib import ExitStack
from typing import Any

from fxrace.probe import exclusive
from fxrace.probe.baselines import Baselines
from fxrace.probe.own_record import OwnRecord
from fxrace.probe.participants import participants
from fxrace.probe.regions import Regions
from fxrace.probe.states import record_leaks
from fxrace.probe.structured_trace import write_findings
from fxrace.records.trial import Trial


class Lookout:
    """``begin`` once, ``end`` once; both may be called from any thread."""

    def __init__(self, record: OwnRecord, *, pressure: str = "none", seed: str = "0") -> None:
        self._record, self._recorder = record, record.recorder
        self._trial = Trial(target="program", knobs={"pressure": pressure}, repeat=int(seed))
        if pressure != "none":
            participants.take_everybody()
        self._hooks = ExitStack()
        self._regions: Regions | None = None
        self._before: Baselines | None = None

    def begin(self) -> None:
        """Attach everything. The interpreter's own end calls ``end``, if nobody did before."""
        from fxrace.probe.attach import attached

        try:
            import torch

            self._before = Baselines()
            self._regions = self._hooks.enter_context(attached(self._trial, self._recorder))
        except Exception as error:
            self._recorder.emit("blind", what="hooks", reason=f"{type(error).__name__}: {error}")
            return
        exclusive.watch_with(self._regions, self._recorder)
        self._recorder.emit("phase", name="run", torch=str(torch.__version__))
        atexit.register(self.end)

    def end(self) -> None:
        """Take the hooks off and, if no thread is in a region, read which States leaked."""
        regions, self._regions = self._regions, None
        if regions is None or self._before is None:
            return
        atexit.unregister(self.end)
        exclusive.watch_with(None, None)
        self._recorder.emit("phase", name="check")
        quiet = regions.quiet()
        self._hooks.close()
        before = self._before.stop()
        if quiet:
            record_leaks(self._recorder, before)
        else:
            self._recorder.emit("note", text="a thread was in a region at the end: leaks not read")
        write_findings(self._record.trace)

    def others(self) -> list[dict[str, Any]]:
        """What other threads with an open region do right now; empty before torch is there."""
        return self._regions.others() if self._regions is not None else []
