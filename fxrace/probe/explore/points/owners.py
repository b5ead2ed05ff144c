"""The functions of torch that write watched States: where grain ``state`` looks at every line.

Data, measured on 2.13 with ``found_in`` (traces, compiles of three backends, export, checkpoint,
flex_attention) and read in others; what a torch does not have is left out. ``found_in`` finds the
writers of any body by comparing the States at every call and return: slow, and needs no list.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from fxrace.probe.explore.points.naming import named
from fxrace.probe.explore.watched import Watched

_FX, _PROXY = "torch.fx._symbolic_trace", "torch.fx.experimental.proxy_tensor"
_OURS = str(Path(__file__).parents[2])
_META, _MODE = "torch.fx.traceback", "torch.utils._python_dispatch:TorchDispatchMode"
_AOT = "torch._functorch._aot_autograd"
OWNERS: tuple[str, ...] = (
    f"{_FX}:Tracer.trace",
    f"{_FX}:_new_patcher",
    f"{_FX}:_maybe_revert_all_patches",
    f"{_FX}:_PatchedFnSetAttr.patch",
    f"{_FX}:_PatchedFnSetAttr.revert",
    f"{_PROXY}:_set_make_fx_tracer",
    f"{_PROXY}:set_original_aten_op",
    f"{_META}:annotate",
    f"{_META}:preserve_node_meta",
    f"{_META}:set_current_meta",
    f"{_META}:set_stack_trace",
    f"{_META}:set_grad_fn_seq_nr",
    f"{_META}:reset_grad_fn_seq_nr",
    f"{_META}:_mark_autograd_backward",
    f"{_META}:_reset_autograd_backward",
    f"{_MODE}.__enter__",
    f"{_MODE}.__exit__",
    f"{_AOT}.graph_capture_wrappers:set_partitioner_tag",
    f"{_AOT}.logging_utils:track_graph_compiling",
    "torch._higher_order_ops.utils:_set_compilation_env",
    "torch._higher_order_ops.utils:setup_compilation_env",
    "torch.fx._lazy_graph_module:_use_lazy_graph_module",
    "torch.fx._lazy_graph_module:_force_skip_lazy_graph_module",
    "torch.fx.graph:_override_sym_repr",
    "torch.fx.experimental.recording:record_shapeenv_event.*",
    "torch.compiler:_compile_session_context",
    "torch.export._trace:_export",
    "torch.export._trace:_export_for_training",
    "torch.export._trace:_log_export_wrapper.*",
    "torch._export.utils:_compiling_state_context",
    "torch._export.non_strict_utils:_override_builtin_ops",
    "torch._dynamo.convert_frame:preserve_global_state.*",
    "torch._dynamo.trace_rules:_force_inline",
    "torch._library.fake_impl:set_ctx_getter",
    "torch._inductor.ir:IRNode.current_origins",
    "torch.utils.checkpoint:set_checkpoint_early_stop",
    "torch.utils.checkpoint:set_checkpoint_debug_enabled",
)


def codes(names: tuple[str, ...] = OWNERS) -> tuple[CodeType, ...]:
    """Their code objects, for names that end in ``.*`` with those nested in them.

    Call it before hooks are attached, and again for modules imported later. Only modules that
    are there are looked at; a function that a hook has replaced for good is left out.
    """
    found: list[CodeType] = []
    for name in names:
        function = _function(name.removesuffix(".*"))
        if function is not None and not function.__code__.co_filename.startswith(_OURS):
            nested = name.endswith(".*")
            found += _with_nested(function.__code__) if nested else [function.__code__]
    return tuple(found)


def _function(name: str) -> Any:
    module, _, path = name.partition(":")
    value: Any = sys.modules.get(module)
    for part in path.split("."):
        value = inspect.getattr_static(value, part, None) if value is not None else None
    value = getattr(value, "__func__", value)
    value = inspect.unwrap(value) if callable(value) else value
    return value if hasattr(value, "__code__") else None


def _with_nested(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _with_nested(constant)


def found_in(body: Callable[[], Any], watched: Watched) -> dict[str, set[str]]:
    """``{function: States it wrote}``, from one run of the body in this thread."""
    found: dict[str, set[str]] = {}
    last = watched.values()

    def look(frame: FrameType | None) -> None:
        nonlocal last
        now = watched.values()
        changed = watched.written(last, now)
        last = now
        if changed and frame is not None:
            found.setdefault(named(frame), set()).update(changed)

    def local(frame: FrameType, event: str, _: Any) -> Any:
        if event == "return":
            look(frame)
        return local

    def entered(frame: FrameType, *_: Any) -> Any:
        look(frame.f_back)
        frame.f_trace_lines = False
        return local

    before = sys.gettrace()
    sys.settrace(entered)
    try:
        body()
    finally:
        sys.settrace(before)
    return found
