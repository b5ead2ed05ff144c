"""``config.patch`` blocks: options of Dynamo or Inductor changed for a while.

Before 2.12 every thread saw the change; since then no other thread does, worker threads and
autograd's device threads included, which is a divergence of its own. Blocks that open inside
another region of the same thread are torch's own business and are not recorded.
"""

from __future__ import annotations

from contextlib import nullcontext
from functools import wraps
from threading import get_ident
from typing import Any

from fxrace.probe.hooks import Blind, Detach, replaced
from fxrace.probe.regions import Regions
from fxrace.probe.watching import Watching

KNOWN = "2.1 to 2.15; read in 2.13"
KIND = "config"


def attach(watching: Watching) -> Detach:
    from torch.utils import _config_module

    module: Any = getattr(_config_module, "ConfigModule", None)
    original: Any = getattr(module, "patch", None)
    if original is None:
        raise Blind("torch.utils._config_module has no ConfigModule.patch")

    @wraps(original)
    def patch(self: Any, *args: Any, **kwargs: Any) -> Any:
        block = original(self, *args, **kwargs)
        _note_blocks(watching.regions, type(block), self.__name__)
        return block

    return replaced(module, "patch", patch)


def _note_blocks(regions: Regions, kind: Any, module: str) -> None:
    """``kind`` is a class made by this one call of ``patch``, so nothing is to be undone.

    Its one object may be entered by several threads, and again inside itself.
    """
    enter, leave = kind.__enter__, kind.__exit__
    opened: dict[int, list[Any]] = {}

    def noted_enter(self: Any) -> Any:
        region: Any = nullcontext()
        # Older blocks keep their changes out of sight; they are regions without names then.
        changes = getattr(self, "changes", None)
        if (changes is None or changes) and not regions.within():
            region = regions.region(KIND, f"{module}: {', '.join(sorted(changes or ()))}")
        region.__enter__()
        opened.setdefault(get_ident(), []).append(region)
        return enter(self)

    def noted_leave(self: Any, *error: Any) -> Any:
        try:
            return leave(self, *error)
        finally:
            if mine := opened.get(get_ident()):
                mine.pop().__exit__(None, None, None)

    kind.__enter__, kind.__exit__ = noted_enter, noted_leave
