"""torch before and after: the identity and the code of everything a guard may touch."""

from __future__ import annotations

import concurrent.futures
import importlib
import itertools
import threading
from collections.abc import Callable
from typing import Any

import torch

from fxrace import guards
from tests.unit.guards.parked import Parked, beside
from tests.unit.guards.pieces import made_by_make_fx, symbolic

MODULES = (
    "torch.fx._symbolic_trace", "torch.fx.traceback", "torch.fx.experimental.proxy_tensor",
    "torch.compiler", "torch._export.utils", "torch.export._trace", "torch._higher_order_ops.utils",
    "torch._higher_order_ops.flex_attention", "torch._dynamo.convert_frame", "torch.autograd",
    "torch.autograd.graph", "torch.utils.checkpoint", "torch.nn.modules.module", "threading",
    "torch._functorch._aot_autograd.runtime_wrappers", "torch._dynamo.trace_rules",
)  # fmt: skip
STATELESS = {"_FX_METADATA_REGISTRY"}
Snapshot = dict[str, tuple[int, ...]]


def snapshot() -> Snapshot:
    found: Snapshot = {}
    holders: list[Any] = [importlib.import_module(name) for name in MODULES]
    holders += [torch.nn.Module, torch.fx.Tracer, threading.Thread]
    holders += [concurrent.futures.ThreadPoolExecutor]
    for holder in list(holders):
        classes = [v for v in vars(holder).values() if isinstance(v, type)]
        holders += [one for one in classes if one.__module__ == getattr(holder, "__name__", "")]
    for holder in holders:
        name = f"{getattr(holder, '__module__', '')}.{getattr(holder, '__name__', '')}"
        found[name] = (id(type(holder)),)
        for key, value in list(vars(holder).items()):
            if key not in STATELESS:
                found[f"{name}.{key}"] = (id(value), *_codes(value))
    return found


def _codes(value: Any) -> tuple[int, ...]:
    codes = []
    value = getattr(value, "__func__", value)
    while value is not None and callable(value):
        codes.append(id(getattr(value, "__code__", None)))
        value = getattr(value, "__wrapped__", None)
    return tuple(codes)


def changed(before: Snapshot, after: Snapshot) -> list[str]:
    keys = sorted(before.keys() | after.keys())
    return [key for key in keys if before.get(key) != after.get(key)]


def usable() -> tuple[str, ...]:
    """The guards that this torch takes."""
    found = []
    for name in guards.available():
        try:
            guards.install(name).remove()
        except guards.GuardRefused:
            continue
        found.append(name)
    return tuple(found)


def _warmed() -> Snapshot:
    """What imports lazily has been imported, what is set once has been set."""
    torch.compile(lambda x: x.sin(), backend="aot_eager")(torch.ones(2, requires_grad=True)).sum()
    torch.fx.symbolic_trace(torch.nn.Linear(2, 2))
    torch.fx.experimental.proxy_tensor.make_fx(lambda x: x.sin())(torch.ones(2))
    return snapshot()


def each_alone() -> list[str]:
    found = []
    before = _warmed()
    for name in usable():
        handle = guards.install(name)
        if handle.reasons:
            continue
        if not changed(before, snapshot()):
            found.append(f"{name} changes nothing")
        handle.remove()
        found += [f"{name} leaves {key}" for key in changed(before, snapshot())]
    return found + changed(before, snapshot())


def any_order() -> list[str]:
    before, found = _warmed(), []
    names = [name for name in usable() if name != "freeze"]
    orders = list(itertools.permutations(range(len(names))))
    for order in orders[:: max(1, len(orders) // 12)]:
        handles = [guards.install(name) for name in names]
        for place in order:
            handles[place].remove()
        found += [f"{order} leaves {key}" for key in changed(before, snapshot())]
    return found


def counted() -> list[str]:
    before = _warmed()
    one, other = guards.install("isolated"), guards.install("isolated", "one_owner")
    found = [] if guards.installed() == {"isolated": 2, "one_owner": 1} else ["not counted"]
    middle = snapshot()
    one.remove()
    one.remove()
    found += [f"the first handle took {key} away" for key in changed(middle, snapshot())]
    other.remove()
    found += [f"left: {guards.installed()}"] if guards.installed() else []
    return found + changed(before, snapshot())


def second_look_shared() -> list[str]:
    """Two guards have it in them, and it goes with the last of them, not with the first."""
    import torch._dynamo.convert_frame as convert

    def looks() -> bool:
        return convert.CatchErrorsWrapper.__call__ is not before

    before = convert.CatchErrorsWrapper.__call__
    found = []
    for order in (0, 1), (1, 0):
        handles = [guards.install("compile_once"), guards.install("one_owner")]
        seen = [looks()]
        for place in order:
            handles[place].remove()
            seen.append(looks())
        if seen != [True, True, False]:
            found.append(f"removed in the order {order} it is there {seen}")
    return found


def after_an_error() -> list[str]:
    before, found = _warmed(), []

    class Boom(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            raise KeyError("planted")

    for name in ("isolated", "one_owner", "readers_writer"):
        try:
            with guards.install(name):
                torch.fx.symbolic_trace(Boom())
        except KeyError:
            found += [f"{name} leaves {key}" for key in changed(before, snapshot())]
        else:
            found.append("no error")
    return found


def refused_half_way() -> list[str]:
    """When the second of two cannot be installed, the first is not left installed."""
    before = _warmed()
    try:
        guards.install("isolated", "no_such_guard")
    except Exception as error:
        named = "no_such_guard" in str(error)
        return changed(before, snapshot()) + ([] if named else ["the error does not name it"])
    return ["it was installed"]


def _while_running(work: Callable[..., Any], *names: str) -> list[str]:
    before = _warmed()
    handle = guards.install(*names)
    a = Parked(work)
    b = Parked(work, "B") if names == ("isolated",) else None
    handle.remove()
    during = beside(lambda: torch.nn.Linear(2, 2)(torch.ones(2)))
    found = [] if isinstance(during, torch.Tensor) else [f"an eager module meets it: {during!r}"]
    results = [a.go(), b.go() if b else None]
    found += [repr(one) for one in results if isinstance(one, BaseException)]
    return found + changed(before, snapshot())


def with_threads_tracing() -> list[str]:
    return [
        *_while_running(symbolic, "isolated"),
        *_while_running(made_by_make_fx, "isolated"),
        *_while_running(symbolic, "one_owner"),
    ]


def taken_back_while_leaving() -> list[str]:
    """Removed and installed again while a trace runs: it stays on."""
    before = _warmed()
    handle = guards.install("isolated")
    a = Parked(symbolic)
    handle.remove()
    again = guards.install("isolated")
    error = a.go()
    found = [] if changed(before, snapshot()) else ["the guard went with the trace"]
    again.remove()
    return (
        found
        + changed(before, snapshot())
        + ([repr(error)] if isinstance(error, BaseException) else [])
    )


def installed_in_a_trace() -> list[str]:
    """A trace that began without the guard: it is refused, and nothing is changed."""
    a = Parked(symbolic)
    before = snapshot()
    try:
        guards.install("isolated")
    except guards.GuardRefused as error:
        found = [] if "trace" in str(error) else [str(error)]
    else:
        found = ["it was installed"]
    found += changed(before, snapshot())
    a.go()
    return found


def compiles_nothing_again() -> list[str]:
    """A guard that comes back finds what was compiled under it, and so does its absence."""
    more = {name: _graphs_after_many(name) for name in usable() if name != "freeze"}
    return [f"{name}: {number} more graphs" for name, number in more.items() if number]


def _graphs_after_many(name: str) -> int:
    """What is compiled when the guard has come and gone once, and comes and goes 12 times more."""
    from torch._dynamo.utils import counters

    torch._dynamo.reset()
    compiled = torch.compile(
        lambda x: x + 1 if torch.compiler.is_compiling() else x, backend="eager"
    )
    graphs = []
    for _ in range(13):
        compiled(torch.ones(2))
        with guards.install(name):
            compiled(torch.ones(2))
        graphs.append(counters["stats"]["unique_graphs"])
    return graphs[-1] - graphs[0]


def many_times() -> list[str]:
    """Install and remove beside threads that trace and run, 60 times."""
    before = _warmed()
    stop, errors = threading.Event(), list[str]()

    def run() -> None:
        plain = torch.nn.Linear(2, 2)
        while not stop.is_set():
            try:
                plain(torch.ones(2))
            except BaseException as error:
                errors.append(repr(error))
                return

    def trace() -> None:
        while not stop.is_set():
            with guards.install("isolated"):
                torch.fx.symbolic_trace(torch.nn.Linear(2, 2))

    threads = [threading.Thread(target=one, daemon=True) for one in (run, trace, trace)]
    with guards.install("isolated"):
        for thread in threads:
            thread.start()
        for _ in range(60):
            guards.install("isolated", "one_owner").remove()
        stop.set()
        for thread in threads:
            thread.join(60)
    return errors + changed(before, snapshot())
