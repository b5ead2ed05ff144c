"""The pytest plugin's face: options, markers and fixtures. The work is in ``fxrace.testing``.

Loaded by every pytest run of an environment that has fxrace, so it imports nothing but pytest
and changes nothing unless a run asks with ``--fxrace``, ``--fxrace-replay`` or one of the fixtures.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from fxrace.testing.control import Control

_OPTIONS = (
    ("schedules", "N", "at most so many schedules per explored test (200)"),
    ("time", "30s", "at most so long per explored test; running out of it says nothing (60s)"),
    ("seed", "N", "of the random strategies; each test derives its own from it and its id (0)"),
    ("baseline", "FILE", "causes that are known: tests that show only these are expected to fail"),
    ("threads", "N", "threads that run a marked test side by side (2)"),
    ("isolate", "fork|spawn|none", "where schedules are played (fork)"),
    ("guard", "NAMES", "remedies of fxrace.guards to install before anything is played"),
    ("fail_on", "TIERS", "tiers of findings that fail a test (t0,t1,t2)"),
    ("report", "FILE", "write what was found as JSON, for fxrace gate"),
)
_SUITE = "fxrace.suite."
_MARKERS = (
    "fxrace(threads, schedules, strategy, expect, grain, time): explore this test under "
    "--fxrace=explore; expect is 'clean', the slug of a hazard or a fingerprint",
    "fxrace_known(fp, issue, until): this cause (fingerprint or slug) is known; the test is "
    "expected to fail by it on torch before version `until`",
    "fxrace_skip(reason): neither watch nor explore this test",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options, and an ini value of the same name for each."""
    group = parser.getgroup("fxrace", "races between threads that trace and compile")
    group.addoption(
        "--fxrace", dest="fxrace_mode", default=None, metavar="off|observe|explore",
        help="observe: watch every test; explore: play marked tests under many schedules (off)",
    )  # fmt: skip
    parser.addini("fxrace_mode", "the default of --fxrace", default="")
    group.addoption(
        "--fxrace-replay", dest="fxrace_replay", default=None, metavar="TOKEN",
        help="play this one schedule of the test that it belongs to",
    )  # fmt: skip
    group.addoption(
        "--fxrace-update-baseline", dest="fxrace_update", action="store_true",
        help="write what this run shows into the file of --fxrace-baseline",
    )  # fmt: skip
    for name, shape, text in _OPTIONS:
        option = f"--fxrace-{name.replace('_', '-')}"
        group.addoption(option, dest=f"fxrace_{name}", default=None, metavar=shape, help=text)
        parser.addini(f"fxrace_{name}", f"the default of {option}", default="")


def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Before the first file of the tests is imported, which may make locks."""
    if _asked(early_config) in ("", "off", "observe"):
        return
    from fxrace.testing import locks

    locks.give(early_config.rootpath)
    early_config.add_cleanup(locks.take_back)


def _asked(config: pytest.Config) -> str:
    given = config.known_args_namespace
    if given.fxrace_replay:
        return "explore"
    return str(config.getini("fxrace_mode") if given.fxrace_mode is None else given.fxrace_mode)


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers; begin only where something was asked."""
    for marker in _MARKERS:
        config.addinivalue_line("markers", marker)
    if _asked(config) not in ("", "off"):
        from fxrace.testing.session import NAME, Session

        config.pluginmanager.register(Session(config), NAME)
    if config.option.pyargs and any(_names_suite(one) for one in config.args):
        from fxrace.testing.suite_session import begin

        begin(config)


def _names_suite(argument: str) -> bool:
    return f"{argument.partition('::')[0]}.".startswith(_SUITE)


@pytest.fixture
def fxrace(request: pytest.FixtureRequest) -> Control:
    """``fxrace.explore(a, b)`` plays callables under many schedules; ``with fxrace.watch():``
    watches a block. Either fails the test where something was found.
    """
    from fxrace.testing.control import control_of

    return control_of(request)


@pytest.fixture
def fxrace_clean_state(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Fails the test that leaves a State of torch off its baseline, and says which."""
    from fxrace.testing.clean_state import watched

    with watched(request) as state:
        yield state
