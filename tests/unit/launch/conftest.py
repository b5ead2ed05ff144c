"""One zygote for all tests of this folder, because it takes seconds to start."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fxrace.launch.executors.local import LocalExecutor
from fxrace.launch.progress import Ended, Mode, Started
from fxrace.launch.stopping import Stopping
from fxrace.records.trial import Limits, Setting, Trial

TARGETS = Path(__file__).parent / "targets"
STAND_IN = Path(__file__).parent / "stand_in"

MakeTrial = Callable[..., Trial]
RunOne = Callable[..., Ended]


@pytest.fixture(scope="session")
def executor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalExecutor]:
    with LocalExecutor(
        python=sys.executable,
        directory=tmp_path_factory.mktemp("out"),
        jobs=2,
        roots=(TARGETS,),
        mode=Mode.FORK,
    ) as opened:
        yield opened


def make_trial(target: str, *, seed: int = 0, file: str | None = None, **limits: float) -> Trial:
    settings: dict[str, Setting] = {} if file is None else {"file": file}
    return Trial(
        target=f"little:{target}",
        knobs={},
        settings=settings,
        seed=seed,
        limits=Limits(**{"trial_s": 60.0, **limits}),
    )


def run_one(executor: LocalExecutor, trial: Trial) -> Ended:
    """Run one trial; checks that it started and ended once, in that order."""
    started, ended = executor.run([trial], stopping=Stopping())
    assert isinstance(started, Started)
    assert isinstance(ended, Ended)
    assert started.trial == ended.trial == trial
    assert started.directory == ended.directory
    return ended
