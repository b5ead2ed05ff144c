"""One thread at a time traces or compiles; warm compiled calls and eager calls of others go on.

Tracing state is made per thread as by the guard isolated, and every FX trace (make_fx included),
Dynamo compile, lazy backward compile, export, save and load of an export takes one lock, which
stands where Dynamo's own stood. A thread whose owner waits for it is let in, so code that joins a
helper inside a trace does not dead-lock. A thread that has waited to compile takes the graph that
was made meanwhile, as by the guard compile_once: waiting must not use up the recompile limit.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from fxrace.guards import compile_once
from fxrace.guards._contract import Detach, Guard, attach_all
from fxrace.guards._owner import PATIENCE_S, Owner
from fxrace.guards._second_look import attach_second_look
from fxrace.guards._swap import Layer, layered
from fxrace.guards._tracing import KEPT, shared


def attach(*, patience_s: float = PATIENCE_S) -> Detach:
    """``patience_s``: how long an owner may stand still before its waiters get GuardTimeout."""
    import torch._dynamo.convert_frame as convert
    import torch.export._trace as export
    from torch._export.serde import serialize
    from torch.fx import Tracer
    from torch.fx.experimental.proxy_tensor import _MakefxTracer

    owners: list[Owner] = []

    def lock(layer: Layer) -> Any:
        owners.append(Owner(lambda: layer.inner, patience_s))
        return owners[0]

    def owned(holder: Any, name: str) -> Callable[[], Detach]:
        return lambda: layered(holder, name, lambda layer: _owned(layer, owners[0]))

    exports = [name for name in ("_export", "_export_for_training") if name in vars(export)]
    return attach_all(
        shared.attach,
        lambda: layered(convert, "compile_lock", lock),
        attach_second_look,
        owned(Tracer, "trace"),
        owned(_MakefxTracer, "trace"),
        owned(serialize, "serialize_torch_artifact"),
        owned(serialize.GraphModuleDeserializer, "deserialize"),
        *(owned(export, name) for name in exports),
    )


def _owned(layer: Layer, owner: Owner) -> Any:
    @wraps(layer.inner)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not layer.live:
            return layer.inner(*args, **kwargs)
        with owner:
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
        "dynamo-dispatch-mode-disables",
        "dynamo-dispatch-mode-stuck",
        "dynamo-device-guard-of-ended-thread",
        "fx-annotate-keyerror",
        "fx-annotate-leak",
        "fx-preserve-node-meta",
        "aot-hop-flag-stuck",
        "aot-lazy-backward-flag",
        "export-disables-compile",
        "dynamo-compile-lock-helper-thread",
        "export-two-exports",
        *compile_once.CURES,
    ),
    cannot_cure=(
        "Installed on another thread than main, it leaves torch 2.10 and 2.11 without a GPU as "
        "they are: a compile crashes after the thread that compiled first has ended.",
        "A thread that waits in native code without a Python frame of its own is let past only "
        "after ten seconds.",
        "An export swaps the parameters of the module it exports: another thread that runs that "
        "module meanwhile sees it.",
        "Calls of compile_fx, aot_function or compiled autograd that bypass Dynamo take no lock.",
        *compile_once.LEFT,
        "A user's own lock taken inside a trace and round a compile in another order.",
    ),
    since="2.5",
    attach=attach,
    keeps=KEPT,
)
