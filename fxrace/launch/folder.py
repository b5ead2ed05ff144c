"""The folder of one trial: its specification, its record, its output, its own compile caches.

A folder left by a killed run is cleared first, so a record never mixes two executions. The
caches are the trial's own and go when it ends: a shared compile cache hides races.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from fxrace.errors import OutputUnwritable
from fxrace.probe.confine import STACKS, STDERR, STDOUT
from fxrace.records.trial import Trial

TAIL_BYTES = 4096


@dataclass(frozen=True, kw_only=True, slots=True)
class TrialFolder:
    """Paths under ``<out>/trials/<digest>``."""

    path: Path

    @property
    def specification(self) -> Path:
        return self.path / "trial.json"

    @property
    def events(self) -> Path:
        return self.path / "events.jsonl"

    @property
    def stdout(self) -> Path:
        return self.path / STDOUT

    @property
    def stderr(self) -> Path:
        return self.path / STDERR

    @property
    def stacks(self) -> Path:
        return self.path / STACKS

    @property
    def py_spy(self) -> Path:
        return self.path / "py-spy.json"

    @property
    def cache(self) -> Path:
        return self.path / "cache"

    @property
    def variables(self) -> dict[str, str]:
        """Environment variables that give the trial compile caches of its own."""
        return {
            "TORCHINDUCTOR_CACHE_DIR": str(self.cache / "inductor"),
            "TRITON_CACHE_DIR": str(self.cache / "triton"),
        }

    def written(self) -> int:
        """Bytes of record so far: the trial's sign of life."""
        try:
            return self.events.stat().st_size
        except OSError:
            return 0

    def stderr_tail(self) -> str:
        """The last 4 KB of standard error, undecodable bytes replaced."""
        try:
            with self.stderr.open("rb") as file:
                file.seek(max(0, self.stderr.stat().st_size - TAIL_BYTES))
                return file.read().decode("utf-8", "replace")
        except OSError:
            return ""

    def drop_cache(self) -> None:
        """Remove the compile caches; what cannot be removed stays, it harms nothing."""
        shutil.rmtree(self.cache, ignore_errors=True)


def prepare(out: Path, trial: Trial) -> TrialFolder:
    """Make the trial's folder, empty but for ``trial.json``. Raises ``OutputUnwritable``."""
    folder = TrialFolder(path=(out / "trials" / trial.digest).absolute())
    with writable(folder.path):
        if folder.path.exists():
            shutil.rmtree(folder.path)
        (folder.cache / "inductor").mkdir(parents=True)
        (folder.cache / "triton").mkdir()
        fresh = folder.path / "trial.json.new"
        fresh.write_text(json.dumps(asdict(trial)))
        fresh.replace(folder.specification)
    return folder


def prune(directory: Path) -> None:
    """Remove a trial's folder whose record is no longer wanted (a CLEAN one, once stored)."""
    shutil.rmtree(directory, ignore_errors=True)


@contextmanager
def writable(path: Path) -> Iterator[None]:
    """Turn the ways a folder can refuse writing into ``OutputUnwritable``."""
    try:
        yield
    except OSError as error:
        where = error.filename or path
        raise OutputUnwritable(
            f"cannot write {os.fspath(where)}: {error.strerror or error}",
            remedy="free some space or name another folder with --output",
        ) from error
