"""The small projects that took the plugin up, again and again: is the verdict the same each time?

    nice python -m tests.benchmarks.adoption_repeats --times 50 > repeats.json

Each project as it is (its planted race must be red) and with the race removed (green), every run a
new interpreter. Compared is all that a run says of its tests but how long it took: verdicts,
causes, the schedules tried, the token. Exit status 1 where two runs of one kind differ.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import torch

from tests.acceptance.adoption import EXPORTER, SERVER, TRAINER, Project, adopt, run

PROJECTS = {one.name: one for one in (SERVER, TRAINER, EXPORTER)}
EXPECTED = {True: "failed", False: "passed"}


def told(status: int, document: dict[str, Any]) -> str:
    """What a run says, as a text that is equal where two runs say the same."""
    tests = [{k: v for k, v in one.items() if k != "duration_s"} for one in document["tests"]]
    causes = [(one["fingerprint"], one["tier"], one["token"]) for one in document["findings"]]
    return json.dumps([status, tests, causes], sort_keys=True)


def repeated(project: Project, folder: Path, *, racy: bool, times: int) -> dict[str, Any]:
    """``said`` is each different text with how often it was said; one is what there should be."""
    copy, began = adopt(project, folder, racy=racy), time.monotonic()
    said: Counter[str] = Counter()
    became: Counter[str] = Counter()
    for number in range(times):
        status, document, printed = run(copy, "--fxrace-time=20m")
        if not document.get("tests"):
            raise SystemExit(f"{project.name}, run {number}: nothing was judged\n{printed}")
        said[told(status, document)] += 1
        became.update(one["became"] for one in document["tests"])
        print(f"{copy.name} {number + 1} {dict(became)}", file=sys.stderr, flush=True)
    return {
        "project": project.name,
        "racy": racy,
        "runs": times,
        "became": dict(became),
        "as_expected": became[EXPECTED[racy]] == times,
        "said": [{"times": count, "what": json.loads(text)} for text, count in said.most_common()],
        "duration_s": round(time.monotonic() - began, 1),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=50)
    parser.add_argument("--project", choices=PROJECTS, action="append")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fxrace-") as name:
        rows = [
            repeated(PROJECTS[one], Path(name), racy=racy, times=chosen.times)
            for one in chosen.project or PROJECTS
            for racy in (True, False)
        ]
    environment = {"torch": torch.__version__, "python": platform.python_version()}
    print(json.dumps({"environment": environment, "rows": rows}, indent=2))
    return int(any(len(row["said"]) > 1 or not row["as_expected"] for row in rows))


if __name__ == "__main__":
    raise SystemExit(main())
