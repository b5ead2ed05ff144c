"""Which settings of torch a thread has made, and which threads compile without seeing them.

From torch 2.12 a setting belongs to the thread that makes it: no other thread sees it, and nothing
says so. Before, one value serves all threads, so a ``config.patch`` block of one thread changes
what another compiles meanwhile. Only what the program itself has set is looked at, where it is set
and where a thread begins to compile: a program that sets nothing pays one test per compile.

The surprise: values are read from torch's own entries and not by ``getattr``, which would make an
override of a list that nobody has set.
"""

from __future__ import annotations

import sys
import threading
from contextvars import ContextVar
from dataclasses import dataclass
from types import FrameType
from typing import Any

from fxrace.probe.recorder import Recorder
from fxrace.probe.regions import Regions
from fxrace.probe.states import told
from fxrace.stacks import stack_of

_Who = tuple[int, str]  # an ident is used again once its thread has ended
_PASSED_THROUGH = ("torch/utils/_config_module.py", "contextlib.py", "unittest/mock.py")


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """The last value that one thread gave to one setting. ``block``: for a while only."""

    thread: str
    value: str
    frames: list[list[Any]]
    block: bool


class Settings:
    """Single dictionary stores by the thread that acts, so no lock is needed."""

    def __init__(self, recorder: Recorder, regions: Regions, unset: object) -> None:
        self._recorder, self._regions, self._unset = recorder, regions, unset
        self._modules: dict[str, tuple[Any, str]] = {}
        self._made: dict[str, dict[_Who, Setting]] = {}
        self._told: set[tuple[object, ...]] = set()

    def made(self, module: Any, name: str, value: object, caller: FrameType | None) -> None:
        """The current thread has set ``module.name``; torch's own settings are its own business."""
        frame = _program(caller)
        if frame is None or getattr(module._config[name], "alias", None) is not None:
            return
        setting = f"{module.__name__.removeprefix('torch.').removeprefix('_')}.{name}"
        setting = setting.replace(".config.", ".")
        self._modules[setting] = (module, name)
        who = _who()
        self._made.setdefault(setting, {})[who] = Setting(
            thread=who[1], value=told(value), frames=stack_of(frame),
            block=self._regions.is_in("config"),
        )  # fmt: skip

    def look(self, caller: FrameType) -> None:
        """The current thread begins to compile: say which settings of others it does not share."""
        if not self._made:
            return
        me = _who()
        for setting, by_thread in list(self._made.items()):
            seen, shared = self._seen(setting)
            if me in by_thread:
                continue
            for maker, other in list(by_thread.items()):
                # A shared value is news only where it is another thread's, for a while.
                news = other.block and other.value == seen if shared else other.value != seen
                key = (setting, maker, other.value, me, seen)
                if news and key not in self._told:
                    self._told.add(key)
                    self._tell(setting, other, seen, caller)

    def _seen(self, setting: str) -> tuple[str, bool]:
        """The value in the current thread, as text, and whether all threads share it."""
        module, name = self._modules[setting]
        entry = module._config[name]
        override = entry.user_override
        shared = not isinstance(override, ContextVar)
        found: Any = override if shared else override.get()
        if found is self._unset:
            found = getattr(entry, "env_value_default", self._unset)
        return told(entry.default if found is self._unset else found), shared

    def _tell(self, setting: str, other: Setting, seen: str, caller: FrameType) -> None:
        self._recorder.emit(
            "config", setting=setting,
            set={"thread": other.thread, "value": other.value, "frames": other.frames},
            seen={"thread": threading.current_thread().name, "value": seen,
                  "frames": stack_of(caller)},
        )  # fmt: skip


def _who() -> _Who:
    return threading.get_ident(), threading.current_thread().name


def _program(frame: FrameType | None) -> FrameType | None:
    """The frame that set it, if it is not torch's: blocks and proxies are passed through."""
    while frame is not None:
        name = str(frame.f_globals.get("__name__", ""))
        file = frame.f_code.co_filename.replace("\\", "/")
        if not file.endswith(_PASSED_THROUGH) and not name.startswith("fxrace.probe"):
            return None if name == "torch" or name.startswith("torch.") else frame
        frame = frame.f_back
    return None


_current: Settings | None = None


def watch_with(settings: Settings | None) -> None:
    """Make these the settings that ``look`` speaks of."""
    global _current
    _current = settings


def look() -> None:
    """See ``Settings.look``; nothing when nobody watches."""
    if _current is not None:
        _current.look(sys._getframe(2))
