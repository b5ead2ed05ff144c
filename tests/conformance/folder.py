"""What each axis folder holds right now; ``FXRACE_PARTS`` adds folders of a user's own parts."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fxrace.probe.part import Part
from harness.parts import load

HARNESS = Path(__file__).parents[2] / "harness"
ROOTS = [Path(root) for root in os.environ.get("FXRACE_PARTS", "").split(os.pathsep) if root]


def names(axis: str) -> list[str]:
    """Every part of this axis, by file name."""
    files = [path for root in (HARNESS, *ROOTS) for path in sorted((root / axis).glob("*.py"))]
    return [path.stem for path in files if not path.name.startswith("_")]


def usable(axis: str, name: str) -> Part:
    """The part, loaded; skips with its own reason where it refuses the CPU."""
    part = load(axis, name, ROOTS)
    reason = part.refuse("cpu")
    if reason is not None:
        pytest.skip(f"{axis}={name} {reason}")
    return part
