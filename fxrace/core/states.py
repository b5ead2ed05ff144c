"""The registry of process-wide State in torch that tracing and compiling borrow.

Data, one row per State. ``surfaces`` are the places (``file:function`` suffixes) where another
thread's collision with it comes to light: attribution goes by the raising frame, never by the
text of an exception, because one State shows up as many texts.
"""

from __future__ import annotations

from fxrace.records.state import State

STATES: tuple[State, ...] = (
    State(
        name="fx.tracing_flag",
        attribute="torch.fx._symbolic_trace:_is_fx_tracing_flag",
        borrowed_by="trace",
        until=(2, 14),
        surfaces=("torch/_dynamo/eval_frame.py:compile_wrapper", "torch/_dynamo/eval_frame.py:_fn"),
        references=("pytorch/pytorch#126024", "pytorch/pytorch#168999"),
        why="a compiled call reads it before any lock and refuses to run while it is True",
    ),
    State(
        name="fx.patcher",
        attribute="torch.fx._symbolic_trace:CURRENT_PATCHER",
        borrowed_by="trace",
        since=(2, 5),
        surfaces=("torch/fx/_symbolic_trace.py:_new_patcher",),
        references=("pytorch/pytorch#189884", "pytorch/pytorch#187589"),
        why="two traces that overlap without nesting restore each other's patcher",
    ),
    State(
        name="nn.module_call",
        attribute="torch.nn.modules.module:Module.__call__",
        borrowed_by="trace",
        surfaces=("torch/fx/_symbolic_trace.py:path_of_module",),
        references=("pytorch/pytorch#112775", "pytorch/pytorch#187589"),
        why="symbolic tracing replaces it for every thread's modules",
    ),
    State(
        name="nn.module_getattr",
        attribute="torch.nn.modules.module:Module.__getattr__",
        borrowed_by="trace",
        references=("pytorch/pytorch#187589",),
        why="symbolic tracing replaces it for every thread's modules",
    ),
    State(
        name="fx.make_fx_tracer",
        attribute="torch.fx.experimental.proxy_tensor:_CURRENT_MAKE_FX_TRACER",
        borrowed_by="trace",
        since=(2, 4),
        why="higher-order operators trace their bodies into whichever tracer it names",
    ),
    State(
        name="fx.traceback_meta",
        attribute="torch.fx.traceback:current_meta",
        borrowed_by="annotate",
        since=(2, 9),
        surfaces=("torch/fx/traceback.py:annotate",),
        why="annotate() adds a key and deletes it, so two threads inside (two eager "
        "create_block_mask calls are enough) delete it twice",
    ),
    State(
        name="compiler.is_compiling",
        attribute="torch.compiler:_is_compiling_flag",
        borrowed_by="compile",
        references=("pytorch/pytorch#184614",),
        why="from 2.13 it is True in every thread while any thread compiles",
    ),
    State(
        name="compiler.is_exporting",
        attribute="torch.compiler:_is_exporting_flag",
        borrowed_by="export",
        since=(2, 8),
        why="torch.compile is a no-op in every thread while any thread exports",
    ),
    State(
        name="device.current",
        attribute="torch.utils._device:CURRENT_DEVICE",
        borrowed_by="default_device",
        why="the default device is remembered for the process, its mode per thread",
    ),
    State(
        name="checkpoint.early_stop",
        attribute="torch.utils.checkpoint:_enable_checkpoint_early_stop",
        borrowed_by="recompute",
        why="set and restored round a block, with no lock",
    ),
    State(
        name="autograd.grad",
        attribute="torch.autograd:grad",
        borrowed_by="trace",
        why="non-strict tracing replaces it for every thread",
    ),
    State(
        name="builtins.max",
        attribute="builtins:max",
        borrowed_by="export",
        why="export replaces it for every thread (2.9 and later)",
    ),
)


def surfaced_at(file: str, function: str) -> State | None:
    """The State whose collisions come to light in this function, or None."""
    place = f"{file.replace(chr(92), '/')}:{function.rsplit('.', 1)[-1]}"
    for state in STATES:
        if any(place.endswith(surface) for surface in state.surfaces):
            return state
    return None


def by_name(name: str) -> State | None:
    """The row of this name, or None."""
    return next((state for state in STATES if state.name == name), None)
