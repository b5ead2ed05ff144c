"""The small projects that took the plugin up, again and again: is the verdict the same each time?

    nice python -m tests.benchmarks.adoption_repeats --times 50 > repeats.json

A round is one run of each project as it is (its planted race must be red) and with the race
removed (green), every run a new interpreter. Compared is all that a run says of its tests but how
long it took: verdicts, causes, the schedules tried, the token. Exit status 1 where two runs of one
kind differ. A round is about 80 s of processor time.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from tests.acceptance.adoption import EXPORTER, SERVER, TRAINER, adopt, run

PROJECTS = {one.name: one for one in (SERVER, TRAINER, EXPORTER)}
EXPECTED = {True: "failed", False: "passed"}


def told(status: int, document: dict[str, Any]) -> str:
    """What a run says, as a text that is equal where two runs say the same."""
    tests = [{k: v for k, v in one.items() if k != "duration_s"} for one in document["tests"]]
    causes = [(one["fingerprint"], one["tier"], one["token"]) for one in document["findings"]]
    return json.dumps([status, tests, causes], sort_keys=True)


@dataclass(kw_only=True, slots=True)
class Kind:
    """One project, racy or not, and what its runs said so far: text -> how often."""

    name: str
    copy: Path
    racy: bool
    said: Counter[str] = field(default_factory=Counter)
    became: Counter[str] = field(default_factory=Counter)
    duration_s: float = 0.0

    def once(self) -> None:
        began = time.monotonic()
        status, document, printed = run(self.copy, "--fxrace-time=20m")
        if not document.get("tests"):
            raise SystemExit(f"{self.copy.name}: nothing was judged\n{printed}")
        self.duration_s += time.monotonic() - began
        self.said[told(status, document)] += 1
        self.became.update(one["became"] for one in document["tests"])
        print(f"{self.copy.name} {dict(self.became)}", file=sys.stderr, flush=True)

    @property
    def right(self) -> bool:
        """Every run said the same, and it is what it should be."""
        return len(self.said) == 1 and set(self.became) == {EXPECTED[self.racy]}

    def row(self) -> dict[str, Any]:
        said = [{"times": n, "what": json.loads(text)} for text, n in self.said.most_common()]
        return {
            "project": self.name, "racy": self.racy, "runs": self.said.total(),
            "became": dict(self.became), "right": self.right, "said": said,
            "duration_s": round(self.duration_s, 1),
        }  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no round later")
    parser.add_argument("--project", choices=PROJECTS, action="append")
    chosen = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="fxrace-") as folder:
        kinds = [
            Kind(name=one, copy=adopt(PROJECTS[one], Path(folder), racy=racy), racy=racy)
            for one in chosen.project or PROJECTS
            for racy in (True, False)
        ]
        for _ in range(chosen.times):
            if time.monotonic() - began < chosen.seconds:
                for kind in kinds:
                    kind.once()
    environment = {"torch": torch.__version__, "python": platform.python_version()}
    rows = [kind.row() for kind in kinds]
    print(json.dumps({"environment": environment, "rows": rows}, indent=2))
    return int(not all(kind.right for kind in kinds))


if __name__ == "__main__":
    raise SystemExit(main())
