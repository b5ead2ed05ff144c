"""One test in an interpreter of its own, which explores it with forks and reports as JSON.

For tests that earlier ones would influence: a cache that is warm, a thread that is there. The
surprise: fixtures are set up twice, here and there, as it is a complete pytest run of one test.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec
import pytest

from fxrace.records import wire
from fxrace.records.testing import PytestDocument
from fxrace.testing.exploration import SPARE_S
from fxrace.testing.settings import Settings

PLUGIN = "fxrace.pytest_plugin"
_TOLD = 2000


class Broken(Exception):
    """The other interpreter said nothing that can be used; the message is what it printed."""


def run(item: pytest.Item, settings: Settings) -> PytestDocument:
    """Run this one test elsewhere. Its document names no test where fxrace was not called, or the
    token to replay is of another one. Raises Broken.
    """
    with tempfile.TemporaryDirectory(prefix="fxrace-") as folder:
        report = Path(folder) / "report.json"
        command = [*_command(item.config), *_options(settings), f"--fxrace-report={report}"]
        child = subprocess.Popen(
            [*command, item.nodeid],
            cwd=item.config.rootpath,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        try:
            printed, _ = child.communicate(timeout=3 * settings.seconds + 2 * SPARE_S)
        except BaseException:
            child.kill()
            child.wait()
            raise
        try:
            document = wire.decode(PytestDocument, report.read_bytes())
        except (OSError, msgspec.DecodeError):
            raise Broken(printed.decode(errors="replace")[-_TOLD:]) from None
    if not document.tests and child.returncode:
        raise Broken(printed.decode(errors="replace")[-_TOLD:])
    return document


def _command(config: pytest.Config) -> list[str]:
    """pytest as this run has it: its ini file, its plugins; one process, no cache."""
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    words += [f"--rootdir={config.rootpath}"]
    words += ["-c", str(config.inipath)] if config.inipath else []
    for name in config.option.plugins or ():
        words += ["-p", name]
    for pair in config.getoption("override_ini") or ():
        words += ["-o", pair]
    return words + (["-n0"] if config.pluginmanager.hasplugin("xdist") else [])


def _options(settings: Settings) -> list[str]:
    given = {
        "schedules": settings.schedules,
        "time": f"{settings.seconds}s",
        "seed": settings.seed,
        "threads": settings.threads,
        "replay": settings.replay,
        "guard": ",".join(settings.guards),
        "baseline": settings.baseline or "",
        "fail-on": ",".join(tier.value for tier in settings.fail_on),
        "isolate": "fork",
    }
    words = [f"--fxrace-{name}={value}" for name, value in given.items() if value != ""]
    return [f"--fxrace={settings.mode.value}", *words]
