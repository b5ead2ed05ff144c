"""The fixture ``fxrace_clean_state``: what a test has left changed in torch fails that very test.

Without it the tests after it fail, each in its own way. Compared are the States that everything
in torch puts back: between before and after the test, so that an earlier leak blames nobody.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from fxrace.core.states import STATES
from fxrace.probe.states import Snapshot, same, snapshot, told


@contextmanager
def watched(request: pytest.FixtureRequest) -> Iterator[Snapshot]:
    """Skips the test where there is no torch."""
    pytest.importorskip("torch", reason="fxrace_clean_state: no torch to keep clean")
    check = _Check(request.node, snapshot())
    request.config.pluginmanager.register(check)
    try:
        yield check.before
    finally:
        request.config.pluginmanager.unregister(check)


@dataclass(frozen=True, slots=True, eq=False)
class _Check:
    """A plugin for one test: so that the test itself fails, and not its teardown."""

    item: pytest.Item
    before: Snapshot

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        result = yield
        left = changed(self.before) if item is self.item else []
        if left:
            pytest.fail("\n".join([f"{item.nodeid} left torch changed:", *left]), pytrace=False)
        return result


def changed(before: Snapshot) -> list[str]:
    """A line for each State that is not as it was."""
    after = snapshot(names=before.values.keys())
    return [
        f"  {state.name} ({state.attribute}) was {told(before.values[state.name])}, "
        f"is {told(after.values[state.name])}"
        for state in STATES
        if state.name in before.values
        and state.name in after.values
        and not same(before.values[state.name], after.values[state.name])
    ]
