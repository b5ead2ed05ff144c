"""A torch in which whether this thread is in an FX trace is known per thread, as from 2.14 on."""

import functools
import threading


def per_thread(module):
    """``torch.fx._symbolic_trace``: the flag of the process counts only where a trace is."""
    here = threading.local()
    trace = module.Tracer.trace

    @functools.wraps(trace)
    def traced(self, *args, **kwargs):
        before, here.tracing = getattr(here, "tracing", False), True
        try:
            return trace(self, *args, **kwargs)
        finally:
            here.tracing = before

    def is_fx_tracing():
        return getattr(here, "tracing", False) and module._is_fx_tracing_flag

    def is_fx_symbolic_tracing():
        import torch

        return is_fx_tracing() and not torch.compiler.is_compiling()

    module.Tracer.trace = traced
    module.is_fx_tracing = is_fx_tracing
    module.is_fx_symbolic_tracing = is_fx_symbolic_tracing


PATCHES = {"torch.fx._symbolic_trace": per_thread}
