"""Turns the telling on, whatever ``--fxrace`` says, and gives the tests their instrument."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fxrace.core.looks import SUITE
from fxrace.testing import settings
from fxrace.testing.collected import known_in, read_baseline
from fxrace.testing.doors import torch_version
from fxrace.testing.reporting import Reporting
from fxrace.testing.session import REPORTING
from fxrace.testing.suite import Suite, shipped

KNOWN: pytest.StashKey[frozenset[str]] = pytest.StashKey()


def pytest_configure(config: pytest.Config) -> None:
    """``--fxrace-baseline`` in place of the one that is shipped."""
    asked = settings.read(config)
    baseline = read_baseline(asked) if asked.baseline else shipped(torch_version())
    config.stash[KNOWN] = known_in(baseline)
    if config.pluginmanager.hasplugin(REPORTING):
        config.pluginmanager.unregister(name=REPORTING)
    config.pluginmanager.register(Reporting(config, asked, SUITE, baseline), REPORTING)


@pytest.fixture(scope="session")
def suite(pytestconfig: pytest.Config) -> Iterator[Suite]:
    """One per process."""
    with Suite(settings.read(pytestconfig), pytestconfig.stash[KNOWN]) as one:
        yield one
