"""Puts the logical target and drafter slots on the devices there are.

Drafters are placed first, each on a device of its own as far as that goes, because they are
what is measured; targets take the devices that follow. Fewer devices than slots means sharing,
and every figure of such a run says ``oversubscribed``.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch

from harness.config import Plan, Preset

# Dense bf16 FLOP/s by what torch calls the device, first match; NVIDIA's data sheets.
_PEAKS = (
    ("H200", 989e12),
    ("H100 PCIe", 756e12),
    ("H100 NVL", 835e12),
    ("H100", 989e12),
    ("A100", 312e12),
    ("B200", 2250e12),
)


class NoDevice(Exception):
    """The device type asked for is not in this machine or not in this torch."""


def devices_of(device_type: str) -> tuple[str, ...]:
    """The physical devices of a type, as torch device strings. Raises NoDevice."""
    if device_type == "cpu":
        return ("cpu",)
    if device_type == "cuda":
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if not count:
            raise NoDevice("this torch sees no CUDA device")
        return tuple(f"cuda:{index}" for index in range(count))
    raise NoDevice(f"device {device_type!r} is none of cpu, cuda")


def place(
    preset: Preset,
    physical: tuple[str, ...],
    *,
    targets: int,
    drafters: int,
    seed: int,
    steps: int,
    freeze: bool,
) -> Plan:
    """Slots on devices: drafter i on device i, target j on device drafters + j, both modulo."""
    if targets < 1 or drafters < 1:
        raise ValueError(f"{targets} targets and {drafters} drafters: at least one of each")
    slots = [physical[slot % len(physical)] for slot in range(drafters + targets)]
    return Plan(
        preset=preset,
        target_devices=tuple(slots[drafters:]),
        drafter_devices=tuple(slots[:drafters]),
        seed=seed,
        steps=steps,
        oversubscribed=len(slots) > len(physical),
        freeze=freeze,
    )


def peak_flops(devices: Iterable[str]) -> float | None:
    """Dense bf16 FLOP/s of these devices together, each counted once; None where unknown."""
    total = 0.0
    for device in set(devices):
        name = torch.cuda.get_device_name(device) if device.startswith("cuda") else device
        peak = next((flops for known, flops in _PEAKS if known in name), None)
        if peak is None:
            return None
        total += peak
    return total


def settle(device: str, intraop_threads: int) -> None:
    """Make the current thread compute on this device with this many intra-op threads.

    Both are per-thread settings that a new thread does not inherit, and Dynamo guards on the
    second: a thread that forgot it would recompile everything.
    """
    if torch.get_num_threads() != intraop_threads:
        torch.set_num_threads(intraop_threads)
    if device.startswith("cuda"):
        torch.cuda.set_device(device)
