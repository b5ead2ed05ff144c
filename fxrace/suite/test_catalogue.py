"""Every script of the catalogue, racy and guarded."""

from __future__ import annotations

import pytest

from fxrace.records.hazard import Hazard
from fxrace.testing.suite import Suite, scripts

pytestmark = pytest.mark.fxrace_skip(reason="runs elsewhere")


@pytest.mark.parametrize("hazard", scripts(), ids=lambda hazard: hazard.slug)
def test_hazard(hazard: Hazard, suite: Suite, request: pytest.FixtureRequest) -> None:
    suite.script(request.node, hazard)
