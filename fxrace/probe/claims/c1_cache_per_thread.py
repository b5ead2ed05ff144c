"""C1: is Dynamo's compile cache per thread?

The cache hangs on the code object, which all threads share. A second thread that calls under the
same guards finds what the first one compiled.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from fxrace.core.claims import Rule
from fxrace.probe.claims import Claim, Experiment
from fxrace.probe.claims import _programs as programs
from fxrace.probe.claims._counts import COMPILED
from fxrace.records.claims import Values

if TYPE_CHECKING:
    from fxrace.probe.claims._bench import Bench

RULE = Rule(
    test=lambda values: values["compiles"] > 0,  # type: ignore[operator]
    true="new compiles in a thread that called what another thread had compiled: {compiles}",
    false="no new compile in a thread that called what another thread had compiled",
)


def _main_first(bench: Bench) -> Values:
    function, x = programs.compiled(), programs.vector(bench)
    programs.calling(function, x)()
    with bench.counts.during() as seen:
        bench.worker(programs.calling(function, x))
    return {"compiles": seen.of(COMPILED)}


def _worker_first(bench: Bench) -> Values:
    function, x = programs.compiled(), programs.vector(bench)
    bench.worker(programs.calling(function, x))
    with bench.counts.during() as seen:
        programs.calling(function, x)()
        bench.worker(programs.calling(function, x))
    return {"compiles": seen.of(COMPILED)}


def _each_wraps(bench: Bench) -> Values:
    import torch

    attention = programs.flex(bench)

    def own() -> Any:
        """What each drafter of the field report does: a wrapper of its own."""
        wrapped = torch.compile(attention, backend=bench.backend, dynamic=False)
        programs.attending(bench, wrapped)()

    own()
    with bench.counts.during() as seen:
        bench.worker(own)
    return {"compiles": seen.of(COMPILED)}


def _cache_per_thread(bench: Bench) -> Values:
    """The world of the claim: every thread compiles a code object of its own."""
    local, x = threading.local(), programs.vector(bench)

    def function(x: Any) -> Any:
        if not hasattr(local, "compiled"):
            local.compiled = programs.compiled()
        return local.compiled(x)

    programs.calling(function, x)()
    with bench.counts.during() as seen:
        bench.worker(programs.calling(function, x))
    return {"compiles": seen.of(COMPILED)}


def _same_thread(bench: Bench) -> Values:
    """One thread calls twice: whatever the cache is, this must be found in it."""
    function, x = programs.compiled(), programs.vector(bench)

    def twice() -> int:
        programs.calling(function, x)()
        with bench.counts.during() as seen:
            programs.calling(function, x)()
        return seen.of(COMPILED)

    return {"compiles": bench.worker(twice)}


def _experiment(id: str, when: str, measured: Any) -> Experiment:
    return Experiment(
        id=id,
        when=when,
        rule=RULE,
        measured=measured,
        control_true=_cache_per_thread,
        control_false=_same_thread,
    )


claim = Claim(
    id="C1",
    statement="Dynamo's compile cache is per thread",
    depends_on="who compiled first",
    experiments=(
        _experiment("main-first", "when main compiled it", _main_first),
        _experiment("worker-first", "when another worker compiled it", _worker_first),
        _experiment("each-wraps", "when each thread wraps flex_attention itself", _each_wraps),
    ),
)
