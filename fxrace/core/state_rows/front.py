"""States of the parts programs use directly: autograd, checkpointing, export, devices, modules."""

from __future__ import annotations

from fxrace.records.state import Keeping, State

ROWS: tuple[State, ...] = (
    State(
        name="device.current",
        attribute="torch.utils._device:CURRENT_DEVICE",
        borrowed_by="default_device",
        keeping=Keeping.LASTING,
        unhooked="a lasting setting, and no block",
        why="the default device is remembered for the process, its mode per thread",
    ),
    State(
        name="rng.cpu",
        attribute="torch:default_generator",
        borrowed_by="rng",
        also_borrowed_by=("checkpoint", "compile"),
        keeping=Keeping.LASTING,
        why="a recompute sets it back to the forward's state and then restores it, so a draw of "
        "another thread changes the mask or is drawn twice",
    ),
    State(
        name="checkpoint.early_stop",
        attribute="torch.utils.checkpoint:_enable_checkpoint_early_stop",
        borrowed_by="early_stop",
        unhooked="Dynamo traces the block, so a hook in it would change the graph",
        why="set and restored round a block, with no lock",
    ),
    State(
        name="checkpoint.debug",
        attribute="torch.utils.checkpoint:_checkpoint_debug_enabled",
        borrowed_by="checkpoint_debug",
        since=(2, 1),
        unhooked="Dynamo traces the block, so a hook in it would change the graph",
        why="set and restored round a block, with no lock",
    ),
    State(
        name="checkpoint.default_device_type",
        attribute="torch.utils.checkpoint:DefaultDeviceType._default_device_type",
        borrowed_by="default_device_type",
        keeping=Keeping.LASTING,
        unhooked="a lasting setting, and no block",
        why="one thread's choice decides whose random state another's recompute restores",
    ),
    State(
        name="autograd.grad",
        attribute="torch.autograd:grad",
        borrowed_by="non_strict",
        why="non-strict tracing replaces it for every thread",
    ),
    State(
        name="autograd.engine_entry",
        attribute="torch.autograd.graph:_engine_run_backward",
        borrowed_by="non_strict",
        since=(2, 4),
        why="non-strict tracing replaces it for every thread's backward",
    ),
    State(
        name="builtins.max",
        attribute="builtins:max",
        borrowed_by="export",
        why="export replaces it for every thread (2.9 and later)",
    ),
    State(
        name="builtins.min",
        attribute="builtins:min",
        borrowed_by="export",
        why="export replaces it for every thread (2.9 and later)",
    ),
    State(
        name="export.flags",
        attribute="torch.export._trace:_EXPORT_FLAGS",
        borrowed_by="export",
        why="one thread's flags are logged for another's export",
    ),
    State(
        name="export.module_hierarchy",
        attribute="torch.export._trace:_EXPORT_MODULE_HIERARCHY",
        borrowed_by="export",
        why="verification of one thread's program uses the modules of another's",
    ),
    State(
        name="nn.buffer_registration_hooks",
        attribute="torch.nn.modules.module:_global_buffer_registration_hooks",
        borrowed_by="export",
        why="export adds a hook that sees the buffers other threads register meanwhile",
    ),
    State(
        name="ddp.active_module",
        attribute="torch.nn.parallel.distributed:DistributedDataParallel._active_ddp_module",
        borrowed_by="ddp_forward",
        unhooked="every warm forward of a data-parallel module sets it",
        why="a compile in another thread is split as if it were the data-parallel module",
    ),
    State(
        name="parametrize.cache",
        attribute="torch.nn.utils.parametrize:_cache_enabled",
        borrowed_by="parametrize_cached",
        unhooked="Dynamo traces the block, so a hook in it would change the graph",
        why="one thread's cached block makes another thread's parameters stale",
    ),
)
