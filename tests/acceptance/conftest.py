"""The projects are programs that tests run, each with a suite of its own."""

from __future__ import annotations

collect_ignore = ["projects"]
