"""The entry into a trial: reads knobs and settings, builds, runs, records.

Called inside the trial process as ``harness.trial:run``. A part that cannot be used and a
device that is not there end the trial quietly (``broken``, ``skipped``): neither says anything
about the program under test.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from fxrace import guards
from fxrace.probe.failure import described
from fxrace.probe.part import Part
from fxrace.probe.recorder import Recorder
from fxrace.records.trial import Trial
from harness import compile_caches, parts
from harness.assembly import Workshop, assemble, options_of
from harness.config import DEFAULT_SETTINGS, Plan
from harness.data.corpora import fitted
from harness.data.token_files import BadTokens
from harness.devices import NoDevice, devices_of, place
from harness.figures.balance import told
from harness.figures.summary import peak_memory, recomputed, record_summary
from harness.guarded import Guarded
from harness.model.hosted import NoModel, shape_of


def run(trial: Trial, recorder: Recorder) -> None:
    """Run one trial to its end. Raises only what main itself failed with while training."""
    settings = {**DEFAULT_SETTINGS, **trial.settings}
    roots = [Path(root) for root in str(settings["parts"] or "").split(os.pathsep) if root]
    try:
        chosen = parts.select(trial.knobs, roots)
        plan = plan_of(trial, settings, roots)
        refusal = _refusal(chosen, plan.device_type)
        if refusal is not None:
            recorder.emit("skipped", reason=refusal)
            return
        if shares_cache(plan, settings):
            compile_caches.share(recorder)
        _train(trial, chosen, plan, roots, recorder)
    except parts.PartBroken as broken:
        cause = broken.__cause__ or broken
        recorder.emit("broken", part=broken.part, reason=broken.reason, error=described(cause))
    except NoDevice as reason:
        recorder.emit("skipped", reason=str(reason))


def before_hooks(trial: Trial) -> None:
    """Install the guards of the locking part, if it is made of some.

    What is wrong with a part is said by ``run``, which meets it again.
    """
    roots = [
        Path(root) for root in str(trial.settings.get("parts") or "").split(os.pathsep) if root
    ]
    try:
        build = parts.select(trial.knobs, roots)["locking"].build
        if isinstance(build, Guarded):
            guards.install(*build.names)
    except (parts.PartBroken, guards.GuardRefused, guards.Unneeded):
        return


run.before_hooks = before_hooks  # type: ignore[attr-defined]


def _train(
    trial: Trial, chosen: Mapping[str, Part], plan: Plan, roots: list[Path], recorder: Recorder
) -> None:
    workshop = Workshop(trial.knobs, chosen, recorder)
    bound_s = trial.limits.trial_s
    again = recomputed(workshop.make("checkpoint"), workshop.make("loss", plan.preset))
    speed = getattr(workshop.make("precision"), "target_speed", 1.0)
    recorder.emit("balance", text=told(plan, speed))
    if getattr(chosen["execution"].build, "separate", False):
        apart = workshop.make("execution", plan, workshop.names, roots, bound_s)
        apart.run()
        record_summary(recorder, plan, apart.turns, again, memory=apart.peak_memory_bytes)
        return
    assembly = assemble(workshop, plan, recorder, bound_s=bound_s)
    try:
        workshop.make("execution", assembly).run()
    finally:
        assembly.close()
    turns = [trainer.turns for trainer in assembly.trainers]
    record_summary(recorder, plan, turns, again, memory=peak_memory(plan))


def shares_cache(plan: Plan, settings: Mapping[str, Any]) -> bool:
    """Whether this trial uses what others compiled. On the CPU there is no code to keep."""
    asked = settings["shared_cache"]
    return plan.device_type != "cpu" and bool(plan.preset.shared_cache if asked is None else asked)


def plan_of(trial: Trial, settings: Mapping[str, Any], roots: list[Path]) -> Plan:
    """Preset, shapes and placement of a trial. Raises PartBroken and NoDevice."""
    preset = parts.load_preset(str(settings["preset"]), roots)
    data, model = str(settings["data"]), str(settings["model"] or "")
    documents = str(settings["documents"])
    try:
        if model:
            preset = replace(preset, target=shape_of(Path(model)))
        preset = fitted(preset, data, documents, grow=not model)
        options_of(str(settings["kernel_options"] or ""))
    except NoModel as error:
        raise parts.PartBroken("target", model, str(error)) from error
    except BadTokens as error:
        raise parts.PartBroken("data", data, str(error)) from error
    except ValueError as error:
        raise parts.PartBroken("kernel_options", "", str(error)) from error
    steps = settings["steps"]
    plan = place(
        preset,
        devices_of(str(settings["device"])),
        targets=int(settings["targets"]),
        drafters=int(settings["drafters"]),
        seed=trial.seed,
        steps=preset.steps if steps is None else int(steps),
        freeze=bool(settings["freeze"]),
    )
    return replace(
        plan,
        fail_fast=bool(settings["fail_fast"]),
        data=data,
        documents=documents,
        model=model,
        kernel_options=str(settings["kernel_options"] or ""),
        gil_share=bool(settings["gil_share"]),
    )


def _refusal(chosen: Mapping[str, Part], device_type: str) -> str | None:
    """Why one of the parts does not run on this kind of device, or None."""
    for axis, part in chosen.items():
        reason = part.refuse(device_type)
        if reason is not None:
            return f"{axis}: {reason}"
    return None
