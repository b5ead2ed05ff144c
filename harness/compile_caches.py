"""Inductor's caches: off in a trial, so that it compiles everything itself, until allowed here.

A shared cache hides races inside code generation, and those only: it is looked up after tracing.
"""

from __future__ import annotations

import os

import torch

from fxrace.probe.recorder import Recorder
from harness.model.pretrain import default_folder

SWITCH = "force_disable_caches"
_FORBIDS = "TORCHINDUCTOR_FORCE_DISABLE_CACHES"


def allow() -> None:
    """Turn Inductor's caches on for the whole process, whatever its environment says.

    Trials run without them, by a variable that outranks every setting; and settings are per thread
    since torch 2.12, where autograd's threads compile too. So the entry itself is changed. Raises
    RuntimeError where that does not help.
    """
    from torch._inductor import config

    for module in (config, getattr(torch.compiler, "config", None)):
        entry = getattr(module, "_config", {}).get(SWITCH)
        for attribute in ("default", "env_value_force", "env_value_default"):
            if getattr(entry, attribute, None) is True:
                setattr(entry, attribute, False)
    if getattr(config, SWITCH):
        raise RuntimeError(f"Inductor's caches stay off in torch {torch.__version__}")


def share(recorder: Recorder) -> None:
    """From here on this process and those it starts keep what they compile below
    ``$FXRACE_CACHE``, and find there what others did. To be called before anything compiles.
    """
    kept = default_folder() / "inductor"
    (kept / "triton").mkdir(parents=True, exist_ok=True)
    os.environ.update(
        TORCHINDUCTOR_CACHE_DIR=str(kept), TRITON_CACHE_DIR=str(kept / "triton"), **{_FORBIDS: "0"}
    )
    allow()
    recorder.emit("note", text="Inductor's cache is shared with other trials")
