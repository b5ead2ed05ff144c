"""Where a trial ran. Results from different environments are never mixed."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Environment:
    """The interpreter and machine of the trial processes, as they describe themselves.

    ``sources`` is a hash over the code of fxrace and of the parts it runs, so that an edited
    locking strategy is not mistaken for one that was already measured.
    """

    fxrace: str
    python: str
    torch: str
    implementation: str
    platform: str
    cpu_count: int
    gpus: tuple[str, ...]
    gil: bool
    executable: str
    sources: str

    @property
    def digest(self) -> str:
        """16 hex digits; equal environments may share stored trials."""
        text = json.dumps(asdict(self), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]
