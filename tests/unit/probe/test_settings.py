"""Settings: who made one, and which thread compiles without seeing it."""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import torch._dynamo
import torch._inductor.config

from fxrace.probe.attach import attached
from fxrace.probe.regions import Regions
from fxrace.probe.settings import Settings
from fxrace.records.trial import Trial
from tests.unit.probe.recording import Recording, Side

LIMIT = "dynamo.recompile_limit"


@pytest.fixture
def recording(tmp_path: Path) -> Iterator[Recording]:
    made = Recording(tmp_path)
    with attached(Trial(target="t:run", knobs={"pressure": "none"}), made.recorder):
        yield made


def compiling() -> None:
    torch._dynamo.reset()
    torch.compile(lambda x: x + 1, backend="eager")(torch.ones(2))


def in_context(work: Callable[[], None]) -> None:
    """Run it so that what it sets is gone afterwards."""
    contextvars.copy_context().run(work)


def told(recording: Recording) -> list[tuple[str, str, str]]:
    return [
        (e.data["setting"], e.data["set"]["value"], e.data["seen"]["value"])
        for e in recording.of("config")
    ]


def test_a_thread_that_does_not_see_a_setting_is_told_once_with_both_stacks(
    recording: Recording,
) -> None:
    def main() -> None:
        torch._dynamo.config.recompile_limit = 64
        Side(compiling).result()
        Side(compiling, name="again").result()

    in_context(main)
    first, second = recording.of("config")
    assert told(recording) == [(LIMIT, "64", "8"), (LIMIT, "64", "8")]
    assert (first.thread, second.thread) == ("side", "again")
    assert first.data["set"]["frames"][-1][2].endswith("main")
    assert any("compiling" in frame[2] for frame in first.data["seen"]["frames"])


def test_a_thread_that_sees_it_or_has_made_its_own_is_not_told(recording: Recording) -> None:
    def own() -> None:
        torch._dynamo.config.recompile_limit = 16
        compiling()

    def main() -> None:
        torch._dynamo.config.recompile_limit = 64
        compiling()
        Side(lambda: context.run(compiling)).result()
        Side(own).result()

    def entered() -> None:
        nonlocal context
        torch._dynamo.config.recompile_limit = 64
        context = contextvars.copy_context()

    context = contextvars.copy_context()
    in_context(entered)
    in_context(main)
    assert told(recording) == []


def test_nested_settings_and_blocks_are_seen_and_what_was_put_back_is_not(
    recording: Recording,
) -> None:
    def main() -> None:
        torch._inductor.config.triton.cudagraphs = True
        with torch._dynamo.config.patch(recompile_limit=3):
            Side(compiling).result()
        torch._inductor.config.triton.cudagraphs = False
        Side(compiling, name="later").result()

    in_context(main)
    assert {event.thread for event in recording.of("config")} == {"side"}
    assert {(s, value) for s, value, _ in told(recording)} == {
        (LIMIT, "3"), ("inductor.triton.cudagraphs", "True"),
    }  # fmt: skip


def test_what_torch_sets_for_itself_is_its_own_business(recording: Recording) -> None:
    torch.compile(lambda x: x * 3, mode="max-autotune-no-cudagraphs", backend="eager")
    torch.compile(lambda x: x * 2)(torch.ones(2))
    Side(compiling).result()
    assert told(recording) == []


class Shared:
    """A config module as it was before 2.12: one value for all threads."""

    __name__ = "torch._dynamo.config"

    def __init__(self, default: object) -> None:
        entry: Any = type("Entry", (), {})()
        entry.default, entry.user_override = default, self
        self._config = {"verbose": entry}


@pytest.mark.parametrize(("block", "count"), [(True, 1), (False, 0)])
def test_a_shared_setting_matters_only_while_it_is_another_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: bool, count: int
) -> None:
    recording = Recording(tmp_path)
    regions = Regions(recording.recorder, _NO_PRESSURE)
    monkeypatch.setattr(regions, "is_in", lambda kind: block and kind == "config")
    unset, module = object(), Shared(default=False)
    settings = Settings(recording.recorder, regions, unset)
    module._config["verbose"].user_override = True
    import sys

    settings.made(module, "verbose", True, sys._getframe())
    Side(lambda: settings.look(sys._getframe())).result()
    assert len(recording.of("config")) == count


class _NoPressure:
    listens = False

    def left(self, kind: str) -> None: ...


_NO_PRESSURE: Any = _NoPressure()
