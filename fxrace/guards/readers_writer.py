"""Tracing and compiling exclude everything that declares itself running, which goes on shared.

For programs whose calls must not meet anything patched: wrap them in ``with guards.running():``.
torch's tracing entry points are the writer by themselves, and ``with guards.tracing():`` marks
any other. A call that finds itself cold inside ``running()`` gives its share up and waits.
"""

from __future__ import annotations

from functools import wraps
from typing import Any

from fxrace.guards._contract import Detach, Guard, attach_all
from fxrace.guards._gate import PATIENCE_S, Gate
from fxrace.guards._hidden import hide_guards
from fxrace.guards._swap import Layer, layered

#: The one gate of the process; ``running()`` works, and excludes nobody, without the guard.
gate = Gate()


class _GatedLock:
    """``compile_lock`` behind the gate: first the gate, then the lock, in every thread."""

    def __init__(self, layer: Layer) -> None:
        self._layer = layer
        self._taken: list[tuple[Any, int | None]] = []

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:  # noqa: FBT001, FBT002
        share = gate.acquire() if self._layer.live else None
        real = self._layer.inner
        try:
            got = bool(real.acquire(blocking, timeout))
        except BaseException:
            self._let_go(share)
            raise
        if got:
            self._taken.append((real, share))  # only the holder writes here
        else:
            self._let_go(share)
        return got

    def release(self) -> None:
        real, share = self._taken.pop()
        real.release()
        self._let_go(share)

    def _let_go(self, share: int | None) -> None:
        if share is not None:
            gate.release(share)

    def _is_owned(self) -> bool:
        return bool(self._layer.inner._is_owned())

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *exc: object) -> None:
        self.release()


def attach(*, patience_s: float = PATIENCE_S) -> Detach:
    """``patience_s``: the longest wait at the gate; then GuardTimeout names who is inside."""
    import torch._dynamo.convert_frame as convert
    import torch.export._trace as export
    from torch.fx import Tracer

    gate.patience_s = patience_s
    hide_guards()
    exports = [name for name in ("_export", "_export_for_training") if name in vars(export)]
    return attach_all(
        lambda: layered(convert, "compile_lock", _GatedLock),
        lambda: layered(Tracer, "trace", _writing),
        *(lambda name=name: layered(export, name, _writing) for name in exports),
    )


def _writing(layer: Layer) -> Any:
    @wraps(layer.inner)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not layer.live:
            return layer.inner(*args, **kwargs)
        with gate.writing():
            return layer.inner(*args, **kwargs)

    return call


guard = Guard(
    cures=(
        "fx-flag-crash",
        "fx-flag-silent-eager",
        "fx-module-call-hijack",
        "fx-shared-module-proxy-leak",
        "fx-patcher-assert",
        "fx-flag-stuck",
        "fx-module-call-stuck",
        "fx-compile-reverts-foreign-patches",
        "dynamo-is-compiling-leak",
    ),
    cannot_cure=(
        "Calls that are not inside running() meet traces as before.",
        "Warm calls wait while anybody traces or compiles: throughput has gaps.",
        "A block of running() that waits for another thread's trace waits until patience_s.",
        "A lazily compiled backward on a device thread waits for the running() of the thread that "
        "called backward: keep backward() outside of running(), or warm it up first.",
    ),
    attach=attach,
)
