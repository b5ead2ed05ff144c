"""Settings of Dynamo and Inductor, where the program makes them: ``torch._dynamo.config.x = 1``.

Every assignment to a config module, a ``config.patch`` block's included, goes through one
``__setattr__``. Torch's fast way round it (``_make_closure_patcher``) serves the options of
``torch.compile`` itself and is meant for one call. No warm call sets anything.
"""

from __future__ import annotations

import sys
from functools import wraps
from typing import Any

from fxrace.probe import settings
from fxrace.probe.hooks import Blind, Detach, in_reverse, replaced
from fxrace.probe.settings import Settings
from fxrace.probe.watching import Watching

KNOWN = "one value for all threads in 2.6 to 2.11, one per thread in 2.12 to 2.15; read in both"
_UNSET = "_UNSET_SENTINEL"


def attach(watching: Watching) -> Detach:
    from torch.utils import _config_module

    module: Any = getattr(_config_module, "ConfigModule", None)
    if "__setattr__" not in vars(module) or not hasattr(_config_module, _UNSET):
        raise Blind("torch.utils._config_module has no ConfigModule that sets attributes")
    original = vars(module)["__setattr__"]
    made = Settings(watching.recorder, watching.regions, getattr(_config_module, _UNSET))

    @wraps(original)
    def setattr_(self: Any, name: str, value: object) -> None:
        original(self, name, value)
        if name in self._config:
            made.made(self, name, value, sys._getframe(1))

    settings.watch_with(made)
    return in_reverse(lambda: settings.watch_with(None), replaced(module, "__setattr__", setattr_))
