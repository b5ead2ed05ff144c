"""Operations with planted faults, and their green twins. They borrow real States of torch."""

from __future__ import annotations

import threading
from typing import Any

import torch.fx.traceback as traceback
import torch.utils.checkpoint as checkpoint
from torch.fx import graph_module

from fxrace.probe.operations import Operation

LOCK = threading.RLock()


def _point(name: str) -> None:
    """A first entry of a torch function, whichever: somewhere to stop."""
    getattr(traceback, name)()


def borrow() -> str:
    """Saves, sets and restores a State, with points inside."""
    before = checkpoint._checkpoint_debug_enabled
    checkpoint._checkpoint_debug_enabled = True
    try:
        traceback.has_preserved_node_meta()
        traceback.get_current_meta()
    finally:
        checkpoint._checkpoint_debug_enabled = before
    graph_module._format_import_statement  # noqa: B018
    return "borrowed"


def read() -> Any:
    """Sees what ``borrow`` borrowed."""
    return checkpoint._checkpoint_debug_enabled


def innocent() -> int:
    """Reads nothing that anybody borrows."""
    return 1


def borrow_locked() -> str:
    """The same under a lock."""
    with LOCK:
        return borrow()


def read_locked() -> Any:
    """Waits for the lock of ``borrow_locked``."""
    with LOCK:
        return read()


def hidden() -> str:
    """Borrows what the registry does not have."""
    before = traceback.__dict__.get("planted", "usual")
    traceback.planted = "borrowed"  # type: ignore[attr-defined]
    try:
        traceback.has_preserved_node_meta()
    finally:
        traceback.planted = before  # type: ignore[attr-defined]
    return "hidden"


def see_hidden() -> Any:
    """Sees it."""
    return traceback.planted  # type: ignore[attr-defined]


def _prepare_hidden() -> None:
    traceback.planted = "usual"  # type: ignore[attr-defined]


def wait_for_ever() -> None:
    """Ends alone, and never while somebody holds the State."""
    if checkpoint._checkpoint_debug_enabled:
        threading.Event().wait()


hide = Operation(run=lambda _: hidden(), prepare=_prepare_hidden)
see = Operation(run=lambda _: see_hidden(), prepare=_prepare_hidden)
