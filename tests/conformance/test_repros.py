"""Every script of the catalogue: its header, its size, what it imports, what its names name."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest

from fxrace.catalog.hazards import read_hazards
from fxrace.core.attribute import FORCED
from fxrace.core.detect import detectors
from fxrace.core.repro_judge import release
from fxrace.core.states import by_name
from fxrace.records import event
from fxrace.records.hazard import Hazard, Layer

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted((ROOT / "repros").glob("*.py"))
CATALOGUE = read_hazards(ROOT)
BY_SLUG = {hazard.slug: hazard for hazard in CATALOGUE.hazards}
MOST_LINES = 120
#: What a torch wheel brings along under names of its own.
ALLOWED = {"torch", "triton", *sys.stdlib_module_names}
REFERENCE = re.compile(r"[\w.-]+/[\w.-]+#\d+")


@pytest.fixture(params=SCRIPTS, ids=lambda path: path.stem)
def script(request: pytest.FixtureRequest) -> Path:
    return request.param  # type: ignore[no-any-return]


@pytest.fixture(params=CATALOGUE.hazards, ids=lambda hazard: hazard.slug)
def hazard(request: pytest.FixtureRequest) -> Hazard:
    return request.param  # type: ignore[no-any-return]


def test_every_script_declares_a_hazard() -> None:
    assert not CATALOGUE.problems
    assert list(BY_SLUG) == [path.stem for path in SCRIPTS]


def test_the_catalogue_covers_every_layer_and_every_kind_of_failure() -> None:
    on_cpu = [hazard for hazard in CATALOGUE.hazards if hazard.device == "cpu"]
    assert len(on_cpu) >= 30
    assert {hazard.layer for hazard in CATALOGUE.hazards} == set(Layer)
    assert sum(hazard.silent for hazard in on_cpu) >= 6
    assert sum(hazard.racy.value == "HUNG" for hazard in on_cpu) >= 3
    assert len(CATALOGUE.hazards) - len(on_cpu) >= 6


def test_a_script_is_short_and_says_what_it_shows(script: Path) -> None:
    text = script.read_text()
    said = ast.get_docstring(ast.parse(text))
    assert len(text.splitlines()) < MOST_LINES
    assert said
    assert "Remedy:" in said.replace("\n", " ")
    assert "--guarded" in text


def test_a_script_needs_torch_and_the_standard_library_only(script: Path) -> None:
    imported: set[str] = set()
    for node in ast.walk(ast.parse(script.read_text())):
        if isinstance(node, ast.Import):
            imported |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add((node.module or "").partition(".")[0])
    assert imported <= ALLOWED
    assert "time" not in imported, "events force a schedule, sleeping does not"


def test_a_script_waits_with_a_bound(script: Path) -> None:
    unbounded = [
        node.lineno
        for node in ast.walk(ast.parse(script.read_text()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("wait", "join")
        and not isinstance(node.func.value, ast.Constant)
        and not (node.args or node.keywords)
    ]
    assert not unbounded


def test_its_names_name_something(hazard: Hazard) -> None:
    assert all(by_name(state) is not None for state in hazard.states)
    assert set(hazard.patterns) <= set(detectors()) | FORCED
    kinds = set(re.findall(r"\w+", (event.__doc__ or "").partition("Kinds of region:")[2]))
    assert set(hazard.regions) <= kinds


def test_a_hazard_without_a_state_claims_no_failure_of_others(hazard: Hazard) -> None:
    """A stateless exception or hang could be anybody's: nothing would be left uncatalogued."""
    if not (hazard.states or hazard.regions or hazard.waits_for):
        assert not {"exception", "hang", "crash", "silent_eager", "departure"} & set(
            hazard.patterns
        )


def test_its_versions_are_a_span(hazard: Hazard) -> None:
    if hazard.fixed_in is not None:
        assert release(hazard.since) < release(hazard.fixed_in)


def test_what_it_claims_was_seen(hazard: Hazard) -> None:
    """A hazard on the CPU has been watched on some torch inside its span; evidence agrees."""
    seen = {torch: text.startswith(hazard.racy.value) for torch, text in hazard.evidence.items()}
    assert any(seen.values()) or hazard.device == "cuda"
    for torch, shows in seen.items():
        after = release(torch) >= release(hazard.since)
        before = hazard.fixed_in is None or release(torch) < release(hazard.fixed_in)
        assert shows == (after and before), torch


def test_it_has_a_remedy_and_names_its_sources(hazard: Hazard) -> None:
    assert hazard.title and hazard.remedy
    assert all(REFERENCE.fullmatch(reference) for reference in hazard.references)
