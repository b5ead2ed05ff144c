"""From the options of a sweep to a Sweep: axes chosen, settings fixed, nothing run yet."""

from __future__ import annotations

import hashlib
import math
import os
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

from fxrace.catalog.parts import axes as every_axis
from fxrace.catalog.parts import recipes, untimed
from fxrace.commands._place import processors
from fxrace.errors import UnknownPart, UsageError
from fxrace.launch import bundled
from fxrace.records.sweep import Axis, Sweep
from fxrace.records.trial import Limits, Setting
from fxrace.render.view import words

TARGET = "harness.trial:run"
ALL = "all"
MOST_JOBS = 8
"""On GPUs: as many as 8 GB hold."""


def known_axes(parts: Sequence[Path] = ()) -> tuple[Axis, ...]:
    """The axes of the harness with the user's own parts joined in."""
    return every_axis((bundled.root(), *parts))


def chosen(axes: Sequence[Axis], picks: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Axis -> values: the defaults, overridden by each ``NAME=V1,V2`` or ``NAME=all``.

    Raises UnknownPart for an axis or value that no folder holds, UsageError for bad syntax.
    """
    by_name = {axis.name: axis for axis in axes}
    values = {axis.name: axis.defaults for axis in axes}
    for pick in picks:
        name, equals, listed = pick.partition("=")
        if not equals:
            raise UsageError(f"--axis {pick!r} is malformed", remedy="write NAME=VALUE,VALUE")
        if name not in by_name:
            raise UnknownPart("axis", name, tuple(by_name))
        values[name] = _values(by_name[name], listed)
    return values


def preset_named(name: str) -> str:
    """The file's name, if there is such a preset; hyphens may be written. Raises UnknownPart."""
    known = tuple(part.name for part in recipes(bundled.root()))
    plain = name.replace("-", "_")
    if plain not in known:
        raise UnknownPart("preset", name, known)
    return plain


def jobs_on_gpus(preset: str) -> int:
    """How many trials of this preset run side by side on GPUs, unless one says otherwise: one
    where they are timed.
    """
    return min(MOST_JOBS, processors()) if untimed(bundled.root(), preset) else 1


def parts_setting(parts: Sequence[Path]) -> dict[str, Setting]:
    """The users' folders as the trial reads them, with a hash, so that an edit counts."""
    if not parts:
        return {"parts": ""}
    total = hashlib.sha256()
    for path in sorted(path for root in parts for path in root.rglob("*.py")):
        total.update(path.name.encode() + b"\0" + path.read_bytes())
    return {
        "parts": os.pathsep.join(str(root.absolute()) for root in parts),
        "parts_sources": total.hexdigest()[:16],
    }


def limits(trial_s: float | None, silence_s: float | None) -> Limits:
    """The default limits with what was given in their place."""
    usual = Limits()
    silence = usual.silence_s if silence_s is None else silence_s
    return Limits(
        trial_s=usual.trial_s if trial_s is None else trial_s,
        silence_s=silence,
        busy_s=max(usual.busy_s, silence),
    )


def described(sweep: Sweep, axes: Sequence[Axis]) -> str:
    """What ``--dry-run`` prints: every axis with what was chosen, and the number of trials."""
    by_name = {axis.name: axis for axis in axes}
    lines = []
    for name, values in sweep.axes.items():
        rest = [part for part in by_name[name].names if part not in values]
        more = f"   (also known: {', '.join(rest)})" if rest else ""
        lines.append(f"{name:<12} {', '.join(values)}{more}")
    cells = math.prod(len(values) for values in sweep.axes.values())
    given = ((n, v) for n, v in sweep.settings.items() if v is not None and v != "")
    lines += [f"{name:<12} {value}" for name, value in given]
    lines.append(f"{'seed':<12} {sweep.seed}")
    lines.append(
        f"{words.count(cells, 'cell')} x {words.count(sweep.repeats, 'repeat')} = "
        f"{words.count(cells * sweep.repeats, 'trial')}, each ended after "
        f"{words.seconds(sweep.limits.silence_s)} of silence or "
        f"{words.seconds(sweep.limits.trial_s)} in all"
    )
    return "\n".join(lines)


def axes_help(axes: Sequence[Axis], *, width: int) -> str:
    """Every axis with its values and what they do; a star marks the defaults."""
    lines = []
    for axis in axes:
        lines.append(f"{axis.name}: {axis.summary}")
        column = max((len(name) for name in axis.names), default=0)
        for part in axis.parts:
            star = "*" if part.name in axis.defaults else " "
            told = f"unusable: {part.problem}" if part.problem else part.summary
            head = f"  {star} {part.name:<{column}}  "
            lines += textwrap.wrap(
                told, max(60, width), initial_indent=head, subsequent_indent=" " * len(head)
            ) or [head]
        lines.append("")
    return "\n".join(lines)


def settings(
    *, preset: str, device: str, split: tuple[int, int], steps: int | None, freeze: bool,
    parts: Sequence[Path],
) -> Mapping[str, Setting]:  # fmt: skip
    """What is fixed over all trials of a sweep, as the harness reads it."""
    targets, drafters = split
    return {
        "preset": preset,
        "device": device,
        "targets": targets,
        "drafters": drafters,
        "steps": steps,
        "freeze": freeze,
        **parts_setting(parts),
    }


def _values(axis: Axis, listed: str) -> tuple[str, ...]:
    names = axis.names if listed == ALL else tuple(v.strip() for v in listed.split(","))
    for name in names:
        if name not in axis.names:
            raise UnknownPart(f"{axis.name} value", name, axis.names)
    return tuple(dict.fromkeys(names))
