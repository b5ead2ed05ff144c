"""Everything that the tests of a run had to say, in one place: the controller's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import msgspec
import pytest

from fxrace.core.baseline import EMPTY, shown_in
from fxrace.pipeline import hazards
from fxrace.records import wire
from fxrace.records.baseline import Baseline
from fxrace.records.document import FindingRow
from fxrace.records.repro import ReproRow
from fxrace.records.testing import Became, JudgedTest, PytestDocument
from fxrace.testing import telling
from fxrace.testing.settings import Settings

SCHEMA, SCHEMA_VERSION = "fxrace.pytest", 1


@dataclass
class Collected:
    """``where`` is test -> (file, line). A test that ran twice counts as it ended last."""

    tests: dict[str, list[JudgedTest]] = field(default_factory=dict)
    rows: dict[str, dict[str, FindingRow]] = field(default_factory=dict)
    results: dict[str, ReproRow] = field(default_factory=dict)
    where: dict[str, tuple[str, int]] = field(default_factory=dict)
    left_out: int = 0

    def add(
        self, tests: Sequence[JudgedTest], rows: Sequence[FindingRow], results: Sequence[ReproRow],
        location: tuple[str, int | None, str],
    ) -> None:  # fmt: skip
        """What one test's report carries."""
        for test in tests[:1]:
            self.tests[test.test] = list(tests)
            self.rows[test.test] = {row.fingerprint: row for row in rows}
            self.where[test.test] = (location[0], (location[1] or 0) + 1)
        self.results |= {row.slug: row for row in results}

    @property
    def judged(self) -> tuple[JudgedTest, ...]:
        """All tests, by id: the order in which workers end is nobody's business."""
        return tuple(test for _, tests in sorted(self.tests.items()) for test in tests)

    @property
    def findings(self) -> tuple[FindingRow, ...]:
        """One row per cause, gravest first, with every test that shows it."""
        found: dict[str, FindingRow] = {}
        for _, rows in sorted(self.rows.items()):
            for print_, row in rows.items():
                known = found.get(print_)
                trials = row.trials if known is None else (*known.trials, *row.trials)
                first = row if known is None or row.tier.value < known.tier.value else known
                found[print_] = replace(first, trials=trials)
        return tuple(sorted(found.values(), key=lambda row: (row.tier.value, row.fingerprint)))

    def annotations(self) -> list[str]:
        """One per test that failed and cause."""
        return [
            telling.annotation(*self.where[test.test], self.rows[test.test][print_])
            for test in self.judged
            if test.became is Became.FAILED
            for print_ in test.findings
            if print_ not in test.known
        ]

    def document(self, *, mode: str, seed: int, torch: str, complete: bool) -> PytestDocument:
        return PytestDocument(
            schema=SCHEMA,
            schema_version=SCHEMA_VERSION,
            torch=torch,
            mode=mode,
            seed=seed,
            complete=complete,
            tests=self.judged,
            findings=self.findings,
            results=tuple(row for _, row in sorted(self.results.items())),
            hazards=tuple(one for one in hazards() if one.slug in self.results),
        )


def read_baseline(settings: Settings) -> Baseline | None:
    """What ``--fxrace-baseline`` names; nothing known where it is to be written first.

    Raises pytest.UsageError.
    """
    path = settings.baseline
    if path is None:
        if settings.update:
            raise pytest.UsageError("--fxrace-update-baseline: name the file: --fxrace-baseline")
        return None
    if settings.update and not path.exists():
        return EMPTY
    try:
        return wire.decode(Baseline, path.read_bytes())
    except (OSError, msgspec.DecodeError) as error:
        raise pytest.UsageError(f"--fxrace-baseline: {path} is no baseline: {error}") from None


def known_in(baseline: Baseline | None) -> frozenset[str]:
    """The fingerprints that are known."""
    entries = () if baseline is None else baseline.entries
    return frozenset(entry.fingerprint for entry in entries if shown_in(entry))
