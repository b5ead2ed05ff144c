"""Turns the telling on, whatever ``--fxrace`` says, and gives the tests their instrument."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fxrace.testing import settings
from fxrace.testing.suite import Suite
from fxrace.testing.suite_session import KNOWN, begin


def pytest_configure(config: pytest.Config) -> None:
    """The plugin has begun where it could tell from the command line what will be collected."""
    begin(config)


@pytest.fixture(scope="session")
def suite(pytestconfig: pytest.Config) -> Iterator[Suite]:
    """One per process."""
    with Suite(settings.read(pytestconfig), pytestconfig.stash[KNOWN]) as one:
        yield one
