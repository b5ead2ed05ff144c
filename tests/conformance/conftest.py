"""The trained target of the unit tests, for the gates."""

from __future__ import annotations

from tests.unit.harness_model.conftest import cache, one_thread, target

__all__ = ["cache", "one_thread", "target"]
