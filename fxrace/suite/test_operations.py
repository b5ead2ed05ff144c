"""The quick matrix: one operation is stopped at every point, while another one runs."""

from __future__ import annotations

import pytest

from fxrace.testing.suite import Suite, quick

pytestmark = pytest.mark.fxrace_skip(reason="runs elsewhere")


@pytest.mark.parametrize(("a", "b"), quick())
def test_pair(a: str, b: str, suite: Suite, request: pytest.FixtureRequest) -> None:
    suite.pair(request.node, a, b)
