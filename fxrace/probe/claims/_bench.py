"""What an experiment works with: a device, counting hooks, stops, and threads to run things in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, cast

from fxrace.probe.claims._counts import Counts
from fxrace.probe.claims._forcing import BOUND_S, Stops
from fxrace.probe.recorder import Recorder
from fxrace.probe.regions import Regions
from fxrace.probe.watching import Watching


@dataclass(frozen=True, kw_only=True, slots=True)
class Bench:
    """``device`` is a torch device string; all threads of an experiment share it."""

    device: str
    counts: Counts
    stops: Stops

    @property
    def cuda(self) -> bool:
        """True on a GPU, where inductor and autograd's device threads take part."""
        return self.device.startswith("cuda")

    @property
    def backend(self) -> str:
        """A backend that traces with FX and can train flex_attention: inductor cannot on a CPU."""
        return "inductor" if self.cuda else "aot_eager"

    def worker(self, work: Callable[[], Any]) -> Any:
        """Run in a new thread and wait. Raises what it raised, or TimeoutError."""
        return ThreadPoolExecutor(1, thread_name_prefix="worker").submit(work).result(2 * BOUND_S)


@contextmanager
def bench_on(device: str) -> Iterator[Bench]:
    """Attach the hook families that count, and take them off again.

    Raises ``Blind`` where this torch hides what they count.
    """
    from fxrace.probe.hooks import dynamo_compile, fx_trace, lazy_backward

    counts, stops = Counts(), Stops()
    recorder = cast(Recorder, counts)
    watching = Watching(recorder=recorder, regions=Regions(recorder, stops), pressure=stops)
    with ExitStack() as stack:
        for family in (fx_trace, dynamo_compile, lazy_backward):
            stack.callback(family.attach(watching))
        yield Bench(device=device, counts=counts, stops=stops)
