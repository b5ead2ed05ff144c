"""The sweep document itself, for other programs. Its schema is ``fxrace schema sweep``."""

from __future__ import annotations

from fxrace.records import wire
from fxrace.records.document import SweepDocument


def render(document: SweepDocument) -> str:
    """Indented JSON, one document."""
    return wire.pretty(document) + "\n"
