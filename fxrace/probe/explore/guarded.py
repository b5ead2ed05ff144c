"""Explores under guards: what every target of ``explore`` does before anything of torch runs."""

from __future__ import annotations

from fxrace import guards
from fxrace.records.trial import Trial


def before_hooks(trial: Trial) -> None:
    """Install what the setting ``guard`` names, separated by commas."""
    names = str(trial.settings.get("guard") or "")
    guards.install(*filter(None, names.split(",")))
