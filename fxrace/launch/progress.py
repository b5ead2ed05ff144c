"""What an executor says while trials run, and how it may start them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TypeAlias

from fxrace.records.outcome import Ending
from fxrace.records.trial import Trial


class Mode(str, Enum):
    """FORK from an interpreter that has torch imported (CPU), or SPAWN a fresh one (CUDA).

    Under FORK torch's lazy imports are done before the trial begins, so races between imports
    can show under SPAWN only.
    """

    FORK = "fork"
    SPAWN = "spawn"


@dataclass(frozen=True, kw_only=True, slots=True)
class Started:
    """The trial's process is running. ``directory`` holds its record."""

    trial: Trial
    directory: Path


@dataclass(frozen=True, kw_only=True, slots=True)
class Ended:
    """The trial's process and everything it started are gone."""

    trial: Trial
    directory: Path
    ending: Ending


Progress: TypeAlias = Started | Ended
