"""What the zygote imports once, so that no trial pays for it again.

Importing only: nothing is traced or compiled here, because a trial must find torch as a new
program finds it. The list names what a first ``torch.compile`` imports lazily (measured with
torch 2.13: 4 s in the zygote, and a first trace in a trial falls from 1.3 s to 0.45 s).
Modules that this torch does not have are passed over.
"""

from __future__ import annotations

import importlib

MODULES = (
    "torch._dynamo",
    "torch._functorch.aot_autograd",
    "torch._higher_order_ops",
    "torch.nn.attention.flex_attention",
    "torch.utils.checkpoint",
    "torch._inductor.compile_fx",
    "torch._dynamo.backends.inductor",
    "torch._dynamo.repro.after_dynamo",
    "torch._export.db.logging",
    "torch._functorch._aot_autograd.subclass_codegen",
    "torch._inductor.choices",
    "torch._inductor.codegen.cpp",
    "torch._inductor.codegen.cpp_wrapper_gpu",
    "torch._inductor.codegen.cuda_combined_scheduling",
    "torch._inductor.codegen.halide",
    "torch._inductor.codegen.wrapper_fxir",
    "torch._inductor.compiler_bisector",
    "torch._inductor.fx_passes.fuse_attention",
    "torch._inductor.fx_passes.quantization",
    "torch._inductor.subgraph_lowering",
    "torch._subclasses.schema_check_mode",
    "torch.distributed.tensor.experimental",
    "torch.export._trace",
    "torch.export._unlift",
    "torch.fx.experimental.validator",
    "torch.utils.cpp_extension",
    "sympy.physics.units",
    "fxrace.probe.attach",
    "fxrace.probe.child",
)


def preload() -> tuple[tuple[str, str], ...]:
    """Import torch, then the list. Returns (module, reason) for what could not be imported.

    Raises whatever ``import torch`` raises: without torch there is nothing to run.
    """
    importlib.import_module("torch")
    missing = []
    for name in MODULES:
        try:
            importlib.import_module(name)
        except Exception as error:
            missing.append((name, f"{type(error).__name__}: {error}"))
    return tuple(missing)
