"""One drafter step on one GPU: the harness's fast path, or any other of its parts.

``python -m tests.benchmarks.drafter_step [--preset paper_8b] [--context 3072] [--anchors 512]``
prints one JSON line per subject: median and range of forward + backward in milliseconds, context
tokens, draft slots and anchors per second, TFLOP/s, MFU, HFU, peak memory measured and predicted;
first the matrix ceiling of this device in the same run. Features lie in memory, weights are random.

``--table`` runs the three shapes of the published table. ``--loss``, ``--layers``, ``--attention``,
``--graphs``, ``--kernel-options`` choose parts (comma-separated lists run every combination), and
``--context`` takes a list of row lengths. ``--whole`` adds the optimizer, to be compared with the
bare step; ``--packed TOKENS`` fills rows with documents that long; ``--profile`` adds the kernels
that take most of it. ``steady_ms`` is a step when the next is launched without waiting for it,
``step_ms`` when each is waited for. A subject that runs out of memory says how much it had and
wanted.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from fxrace.probe.recorder import Recorder
from harness import parts
from harness.assembly import Shared, Workshop
from harness.config import DEFAULT_KNOBS, Plan, Preset
from harness.devices import devices_of, peak_flops, place
from harness.figures import flops
from harness.figures.counters import Counters
from harness.figures.memory import predicted
from harness.figures.summary import recomputed
from harness.model.target import Borrowed
from harness.model.training import Batch
from harness.step import Drafting

WARM, TIMED = 3, 20
KERNELS, GAPS = 40, 15
TABLE = (("paper_8b", 3072, 512), ("paper_4b", 3072, 512), ("paper_8b", 550, 256))


@dataclass(frozen=True, kw_only=True, slots=True)
class Subject:
    """What is timed: a preset at one shape, with these parts."""

    preset: Preset
    knobs: dict[str, str]
    options: str
    whole: bool
    profiled: bool
    packed: int


def ceiling(device: str) -> float:
    """FLOP/s of a large bf16 (fp32 on the CPU) matrix product on this device, right now."""
    on_gpu = device.startswith("cuda")
    size = 8192 if on_gpu else 512
    dtype = torch.bfloat16 if on_gpu else torch.float32
    a, b = (torch.randn(size, size, device=device, dtype=dtype) for _ in range(2))
    seconds = sorted(timed(lambda: a @ b, device, 10))
    return 2.0 * size**3 / seconds[len(seconds) // 2]


def timed(work: Callable[[], Any], device: str, count: int) -> list[float]:
    """Seconds of each of ``count`` runs after a few that do not count."""
    seconds = []
    for number in range(WARM + count):
        settled(device)
        began = time.perf_counter()
        work()
        settled(device)
        if number >= WARM:
            seconds.append(time.perf_counter() - began)
    return seconds


def steady(work: Callable[[], Any], device: str, count: int) -> float:
    """Seconds per run of ``count`` in a row, each launched without waiting for the one before."""
    return sorted(timed(lambda: [work() for _ in range(count)], device, 3))[1] / count


def settled(device: str) -> None:
    if device.startswith("cuda"):
        torch.cuda.synchronize(device)


def drafting(subject: Subject, plan: Plan, recorder: Recorder) -> tuple[Drafting, Batch, Any]:
    """A drafter with random borrowed matrices and one batch of random features."""
    chosen = parts.select(subject.knobs)
    workshop = Workshop(subject.knobs, chosen, recorder)
    shared = Shared(workshop=workshop, plan=plan, counters=Counters(recorder))
    device, target = plan.drafter_devices[0], plan.preset.target
    place = torch.arange(plan.preset.contexts[0]).expand(plan.preset.rows, -1)
    dtype, _ = shared.precision.dtypes(plan.device_type)
    generator = torch.Generator(device).manual_seed(0)

    def random(*shape: int) -> torch.Tensor:
        made = torch.empty(shape, device=device, dtype=dtype)
        return made.normal_(0.0, shape[-1] ** -0.5, generator=generator)

    lent = Borrowed(
        embedding=random(target.vocab, target.hidden),
        head=random(target.vocab, target.hidden),
        mask_token=target.vocab - 1,
    )
    _, made = shared.drafting(0, lent)
    context, rows = plan.preset.contexts[0], plan.preset.rows
    batch = Batch(
        input_ids=torch.randint(0, target.vocab - 1, (rows, context)),
        loss_mask=torch.ones(rows, context, dtype=torch.bool),
        features=random(rows, context, plan.preset.drafter.captures * target.hidden),
        starts=place // subject.packed * subject.packed if subject.packed else None,
    )
    again = recomputed(workshop.make("checkpoint"), workshop.make("loss", plan.preset))
    return made, batch, again


def measure(subject: Subject, device: str) -> dict[str, Any]:
    """The figures of one subject."""
    plan = replace(
        place(subject.preset, (device,), targets=1, drafters=1, seed=0, steps=10**6, freeze=False),
        kernel_options=subject.options,
    )
    preset, context = plan.preset, plan.preset.contexts[0]
    with TemporaryDirectory() as folder:
        recorder = Recorder(Path(folder) / "events.jsonl")
        made, batch, again = drafting(subject, plan, recorder)
        numbers = itertools.count()

        def step() -> float | None:
            if subject.whole:
                return made.train(batch, next(numbers)).reach
            figures = made._backward(batch, torch.Generator().manual_seed(next(numbers)))
            made._updates.drop()
            return float(figures[4]) if subject.packed else None

        if device.startswith("cuda"):
            torch.cuda.reset_peak_memory_stats(device)
        seconds = sorted(timed(step, device, TIMED))
        pipelined = steady(step, device, TIMED)
        kernels = profile(step) if subject.profiled else {}
        reach = step()
        recorder.close()
    median, peak = seconds[len(seconds) // 2], peak_flops([device])
    work = flops.step_flops(preset, context, reach)
    hard = flops.hardware_flops(preset, context, again, reach)
    on_gpu = device.startswith("cuda")
    return {
        "preset": preset.name, "context": context, "anchors": preset.drafter.anchors,
        "rows": preset.rows, "packed": subject.packed, "whole_step": subject.whole,
        "kernel_options": subject.options,
        **{axis: subject.knobs[axis] for axis in ("attention", "layers", "loss", "cudagraphs")},
        "step_ms": median * 1e3, "step_ms_low": seconds[1] * 1e3, "step_ms_high": seconds[-2] * 1e3,
        "steady_ms": pipelined * 1e3, "steady_mfu": work / pipelined / peak if peak else None,
        "context_tokens_per_s": preset.rows * context / median,
        "draft_slots_per_s": preset.rows * preset.slots_per_row / median,
        "anchors_per_s": preset.rows * preset.drafter.anchors / median,
        "tflops": work / median / 1e12,
        "mfu": work / median / peak if peak else None,
        "hfu": hard / median / peak if peak else None,
        "peak_memory_bytes": torch.cuda.max_memory_allocated(device) if on_gpu else None,
        "predicted_memory_bytes": predicted(preset, width=2 if on_gpu else 4).drafter,
        **kernels,
    }  # fmt: skip


def profile(step: Callable[[], Any]) -> dict[str, Any]:
    """Kernels of one step by time on the device, in ms, and how long the device had nothing."""
    from torch.profiler import ProfilerActivity
    from torch.profiler import profile as profiler

    with profiler(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as seen:
        step()
        torch.cuda.synchronize()
    kernels = [
        e for e in seen.key_averages() if e.self_device_time_total and not e.self_cpu_time_total
    ]
    kernels.sort(key=lambda e: -e.self_device_time_total)
    launched = sorted(
        (e.time_range.start, e.time_range.end, e.name[:60])
        for e in seen.events()
        if e.device_type == torch.autograd.DeviceType.CUDA
    )
    gaps = sorted(
        ((later[0] - before[1]) / 1e3, before[2], later[2])
        for before, later in itertools.pairwise(launched)
    )
    return {
        "kernels": [
            [e.key[:90], e.count, e.self_device_time_total / 1e3] for e in kernels[:KERNELS]
        ],
        "device_busy_ms": sum(end - start for start, end, _ in launched) / 1e3,
        "device_span_ms": (launched[-1][1] - launched[0][0]) / 1e3,
        "longest_gaps_ms": gaps[: -GAPS - 1 : -1],
    }


def attempt(subject: Subject, device: str) -> dict[str, Any]:
    """The figures, or what the subject asked for when memory ran out."""
    try:
        return measure(subject, device)
    except torch.OutOfMemoryError as error:
        return {
            "preset": subject.preset.name, "context": subject.preset.contexts[0],
            "rows": subject.preset.rows, **subject.knobs, "out_of_memory": str(error)[:300],
            "peak_memory_bytes": torch.cuda.max_memory_allocated(device),
        }  # fmt: skip


def subjects(asked: argparse.Namespace) -> Iterator[Subject]:
    """Every shape with every combination of parts that was asked for."""
    contexts = [int(length) for length in asked.context.split(",")]
    own = [(asked.preset, length, asked.anchors) for length in contexts]
    shapes = TABLE if asked.table else own
    axes = ("attention", "layers", "loss", "cudagraphs")
    chosen = [getattr(asked, axis).split(",") for axis in axes]
    for (name, context, anchors), values in itertools.product(shapes, itertools.product(*chosen)):
        preset = parts.load_preset(name)
        shape = replace(preset.drafter, anchors=anchors or preset.drafter.anchors)
        yield Subject(
            preset=replace(
                preset, drafter=shape, contexts=(context or preset.contexts[0],),
                rows=asked.rows or preset.rows,
            ),
            knobs={**DEFAULT_KNOBS, **dict(zip(axes, values, strict=True))},
            options=asked.kernel_options,
            whole=asked.whole,
            profiled=asked.profile,
            packed=asked.packed,
        )  # fmt: skip


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--preset", default="paper_8b")
    parser.add_argument("--context", default="0")
    parser.add_argument("--anchors", type=int, default=0)
    parser.add_argument("--rows", type=int, default=0)
    parser.add_argument("--attention", default="flex_isolated")
    parser.add_argument("--layers", default="compiled")
    parser.add_argument("--loss", default="fused_linear_ce")
    parser.add_argument("--graphs", dest="cudagraphs", default="off")
    parser.add_argument("--kernel-options", default="")
    parser.add_argument("--packed", type=int, default=0, metavar="TOKENS")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--whole", action="store_true")
    parser.add_argument("--profile", action="store_true")
    asked = parser.parse_args(arguments)
    (device, *_) = devices_of(asked.device)
    print(json.dumps({"ceiling_tflops": ceiling(device) / 1e12, "torch": torch.__version__}))
    for subject in subjects(asked):
        print(json.dumps(attempt(subject, device)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
