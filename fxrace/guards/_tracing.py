"""Everything of FX's tracing state that can be made per thread, put on and off as one.

Shared by the guards ``isolated`` and ``one_owner``: whichever comes first attaches it, whichever
goes last takes it off. What a running trace stands on stays until no thread is inside.
"""

from __future__ import annotations

import threading

from fxrace.guards._compiling import attach_compiling
from fxrace.guards._contract import Detach, attach_all
from fxrace.guards._device_guard import attach_device_guard
from fxrace.guards._fx import attach_flag, attach_patcher
from fxrace.guards._hidden import hide_guards
from fxrace.guards._make_fx import attach_make_fx
from fxrace.guards._meta import attach_meta
from fxrace.guards._modes import attach_modes
from fxrace.guards._thread_state import Inside

#: The States that what is attached here makes the calling thread's own.
KEPT = (
    "fx.tracing_flag", "fx.patcher", "nn.module_call", "nn.module_getattr", "fx.make_fx_tracer",
    "compiler.is_compiling", "compiler.is_exporting", "fx.traceback_meta",
    "fx.preserve_node_meta", "dispatch.in_mode", "dispatch.in_non_infra_mode",
)  # fmt: skip


class Shared:
    """One attachment and how many guards want it."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._wanted = 0
        self._inside = Inside()
        self._detach: Detach | None = None

    def attach(self) -> Detach:
        with self._lock:
            if self._detach is None:
                hide_guards()
                self._detach = attach_all(
                    attach_device_guard,
                    lambda: attach_patcher(self._inside),
                    lambda: attach_flag(self._inside),
                    lambda: attach_make_fx(self._inside),
                    lambda: attach_compiling(self._inside),
                    lambda: attach_meta(self._inside),
                    attach_modes,
                )
            else:
                self._inside.never_mind()
            self._wanted += 1
        return self._release

    def _release(self) -> None:
        with self._lock:
            self._wanted -= 1
            if not self._wanted:
                self._inside.when_empty(self._take_off)

    def _take_off(self) -> None:
        with self._lock:
            if self._wanted or self._detach is None:
                return
            detach, self._detach = self._detach, None
            detach()

    @property
    def attached(self) -> bool:
        return self._detach is not None


shared = Shared()
