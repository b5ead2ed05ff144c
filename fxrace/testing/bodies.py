"""What the threads of a marked test run: the test function itself, on the fixtures of this run.

Works on the item's ``obj``, so that plain functions, methods, unittest's and parametrised tests
are all one. The surprise: an async test stays async for pytest and its plugins; its coroutine is
run by a loop of its own in each thread.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

Explore = Callable[[Callable[[], Any], str], bool]
"""Takes a body and its name; True where the test must run as usual, to fail as it does alone."""

_PARALLEL = "pytest_run_parallel"


@contextmanager
def replaced(item: pytest.Item, explore: Explore) -> Iterator[None]:
    """While the block runs, calling the test explores it instead."""
    if not isinstance(item, pytest.Function):
        yield
        return
    usual = item.obj
    item.obj = _explored(_without_parallel(usual), item.originalname or item.name, explore)
    try:
        yield
    finally:
        item.obj = usual


def _explored(function: Callable[..., Any], name: str, explore: Explore) -> Callable[..., Any]:
    if inspect.iscoroutinefunction(function):

        async def explored_async(*args: Any, **fixtures: Any) -> Any:
            if explore(lambda: asyncio.run(function(*args, **fixtures)), name):
                return await function(*args, **fixtures)
            return None

        return explored_async

    def explored(*args: Any, **fixtures: Any) -> Any:
        if explore(lambda: function(*args, **fixtures), name):
            return function(*args, **fixtures)
        return None

    return explored


def _without_parallel(function: Any) -> Any:
    """pytest-run-parallel would run the test in threads of its own, which nobody schedules."""
    code = getattr(function, "__code__", None)
    while code is not None and _PARALLEL in code.co_filename and hasattr(function, "__wrapped__"):
        function = function.__wrapped__
        code = getattr(function, "__code__", None)
    return function
