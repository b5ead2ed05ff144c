"""A run of the suite of known hazards: its baseline, and its own way of telling.

The surprise: with ``--pyargs`` the suite's conftest is read when tests are collected, and the
controller of xdist collects none. So the plugin begins as well, by what the command line names.
"""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from fxrace.core.looks import SUITE
from fxrace.testing import settings
from fxrace.testing.collected import known_in, read_baseline
from fxrace.testing.doors import torch_version
from fxrace.testing.reporting import Reporting
from fxrace.testing.session import REPORTING
from fxrace.testing.suite import shipped

KNOWN: pytest.StashKey[frozenset[str]] = pytest.StashKey()


def begin(config: pytest.Config) -> None:
    """Tell this run as the suite's; once. ``--fxrace-baseline`` in place of what is shipped.

    Raises pytest.UsageError.
    """
    if KNOWN in config.stash:
        return
    if find_spec("torch") is None:
        raise pytest.UsageError("fxrace.suite: this interpreter has no torch to look at")
    asked = settings.read(config)
    baseline = read_baseline(asked) if asked.baseline else shipped(torch_version())
    config.stash[KNOWN] = known_in(baseline)
    if config.pluginmanager.hasplugin(REPORTING):
        config.pluginmanager.unregister(name=REPORTING)
    config.pluginmanager.register(Reporting(config, asked, SUITE, baseline), REPORTING)
