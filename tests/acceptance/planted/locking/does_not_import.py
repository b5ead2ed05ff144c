"""Planted: a part whose module fails when it is imported."""

from __future__ import annotations

from fxrace.probe.part import Part

raise ImportError("planted: this part cannot be imported")

part = Part(build=object)
