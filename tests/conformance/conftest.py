"""The trained target of the unit tests, for the gates."""

from __future__ import annotations

from tests.unit.harness_model.conftest import one_thread, target

__all__ = ["one_thread", "target"]
