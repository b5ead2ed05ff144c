"""The quick matrix: each operation stopped at every point, while each of the others runs."""

from __future__ import annotations

import pytest

from fxrace.testing.suite import Suite, quick

pytestmark = pytest.mark.fxrace_skip(reason="runs elsewhere")
STOPPED, OTHERS = quick()


@pytest.mark.parametrize("a", STOPPED)
def test_operation(a: str, suite: Suite, request: pytest.FixtureRequest) -> None:
    suite.operation(request.node, a, OTHERS)
