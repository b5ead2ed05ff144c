"""Nothing waits: tracing state is made per thread, so any threads may trace and compile at once.

The FX flag, the patcher and its patches of nn.Module, make_fx's current tracer, is_compiling()
and the current node metadata each become the tracing thread's own.
"""

from __future__ import annotations

from fxrace.guards._contract import Detach, Guard
from fxrace.guards._tracing import KEPT, shared


def attach() -> Detach:
    """Make the state per thread; for traces that run meanwhile it stays so until they end."""
    return shared.attach()


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
    ),
    cannot_cure=(
        "Installed on another thread than main, it leaves torch 2.10 and 2.11 without a GPU as "
        "they are: a compile crashes after the thread that compiled first has ended.",
        "An export swaps the parameters of the module it exports and, from 2.9, builtins.max and "
        "min: another thread that runs that module, or calls those, sees it.",
        "Code that reads torch.compiler._is_compiling_flag or _is_exporting_flag itself sees other "
        "threads' values; before torch 2.8 is_compiling() does so too during an export.",
        "A Dynamo compile puts back the default dtype, the determinism settings and the random "
        "state as it found them, whoever changed or drew meanwhile.",
        "Before torch 2.12 Dynamo's configuration is process-wide; blocks that patch it overlap.",
        "Dynamo's own process-wide switches (stances, guards turned off, isolated regions) stay "
        "process-wide, and so does everything in Inductor and Triton.",
        "fx.wrap of a builtin adds a name to its module while a trace runs; a thread that "
        "iterates over that module's globals at that moment can fail.",
    ),
    since="2.5",
    attach=attach,
    keeps=KEPT,
)
