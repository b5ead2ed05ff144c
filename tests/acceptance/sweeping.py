"""Runs the real command line in a folder of its own, as a user's shell would."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PLANTED = Path(__file__).with_name("planted")
BOUND_S = 400


@dataclass(frozen=True, kw_only=True, slots=True)
class Ran:
    """How one call of ``fxrace`` ended."""

    status: int
    stdout: str
    stderr: str

    @property
    def document(self) -> dict[str, Any]:
        """Stdout as the one JSON document it must be."""
        assert self.stdout, self.stderr
        found: dict[str, Any] = json.loads(self.stdout)
        return found


def arguments(*words: str) -> list[str]:
    return [sys.executable, "-m", "fxrace.cli", *words]


def environment(root: Path = ROOT) -> dict[str, str]:
    path = os.pathsep.join(filter(None, (str(root), os.environ.get("PYTHONPATH"))))
    return {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}


def fxrace(*words: str, cwd: Path, root: Path = ROOT) -> Ran:
    """``fxrace words...`` from the checkout at ``root``."""
    ran = subprocess.run(
        arguments(*words), cwd=cwd, env=environment(root), capture_output=True, text=True,
        timeout=BOUND_S,
    )  # fmt: skip
    return Ran(status=ran.returncode, stdout=ran.stdout, stderr=ran.stderr)


def axes(**chosen: Sequence[str] | str) -> list[str]:
    """``--axis`` words: one value for each axis that is not named."""
    one = {
        "locking": "none", "checkpoint": "off", "warmup": "none", "attention": "dense",
        "pressure": "none",
    }  # fmt: skip
    values = {**one, **chosen}
    return [
        word
        for axis, value in values.items()
        for word in ("--axis", f"{axis}={value if isinstance(value, str) else ','.join(value)}")
    ]
