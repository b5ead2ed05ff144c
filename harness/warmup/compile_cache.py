"""What Inductor made in an earlier run is loaded before threads: they trace, but generate no code.

Portable artifacts (``torch.compiler.save_cache_artifacts``), one file per torch, device, preset and
parts, below ``$FXRACE_CACHE``. Where there is none yet, main rehearses everything, saves it and
forgets what it compiled, so that this run starts as every later one does. The surprise: tracing
cannot be loaded, so drafters still meet in it; what is short is the time that compiling takes.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch

from fxrace.probe.part import Part
from fxrace.probe.recorder import Recorder
from harness.compile_caches import allow
from harness.config import Plan
from harness.contracts import Rehearsal
from harness.model.pretrain import default_folder

WITHOUT_CODE = frozenset({"locking", "warmup", "execution", "queue", "schedule"})
"""Axes that change nothing of what is compiled."""


class CompileCache:
    """``names`` are the trial's parts by axis. Built without a plan, all runs share one file."""

    def __init__(
        self,
        plan: Plan | None = None,
        names: Mapping[str, str] | None = None,
        recorder: Recorder | None = None,
    ) -> None:
        allow()
        self._recorder = recorder
        self._file = default_folder() / "compiled" / f"{_key(plan, names or {})}.bin"

    def before_threads(self, rehearsals: Sequence[Rehearsal], contexts: Sequence[int]) -> None:
        made = not self._file.is_file()
        if made:
            for rehearsal in rehearsals:
                for context in contexts:
                    rehearsal.rehearse(context)
            _write(self._file, _artifacts())
            torch._dynamo.reset()
        info = torch.compiler.load_cache_artifacts(self._file.read_bytes())
        if info is None:
            self._file.unlink(missing_ok=True)
            raise RuntimeError(f"{self._file} held no artifacts of this torch; it is deleted now")
        # torch 2.6 has a list per kind, later ones a dictionary of them.
        kinds = getattr(info, "artifacts", None) or vars(info)
        count = sum(map(len, kinds.values()))
        self._note(f"compile cache: {count} artifacts loaded, {'new' if made else 'of before'}")

    def in_drafter(self, rehearsal: Rehearsal, contexts: Sequence[int], others: int) -> None: ...

    def _note(self, text: str) -> None:
        if self._recorder is not None:
            self._recorder.emit("note", text=text)


def _artifacts() -> bytes:
    saved = torch.compiler.save_cache_artifacts()
    if saved is None:
        raise RuntimeError("Inductor compiled nothing that can be kept")
    found: bytes = saved[0]
    return found


def _key(plan: Plan | None, names: Mapping[str, str]) -> str:
    """Names what is compiled: 16 hex digits."""
    cuda = torch.cuda.is_available()
    device = torch.cuda.get_device_name() if cuda else "cpu"
    parts = sorted((axis, name) for axis, name in names.items() if axis not in WITHOUT_CODE)
    options = plan.kernel_options if plan is not None else ""
    packed = ("packed",) if plan is not None and plan.packed else ()
    what = (torch.__version__, device, plan and plan.preset, parts, options, *packed)
    return hashlib.blake2b(repr(what).encode(), digest_size=8).hexdigest()


def _write(path: Path, content: bytes) -> None:
    """The file appears whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.stem, suffix=".part")
    with os.fdopen(handle, "wb") as part:
        part.write(content)
    Path(name).replace(path)


def refuse(device_type: str) -> str | None:
    if device_type == "cpu":
        return "there is no code to keep: the CPU runs what aot_eager traced"
    if not hasattr(torch.compiler, "save_cache_artifacts"):
        return f"torch {torch.__version__} has no portable compile cache"
    return None


part = Part(build=CompileCache, refuse=refuse)
