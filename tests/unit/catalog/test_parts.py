"""Axes are read from folders without running them, and a bad file costs only itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fxrace.catalog.parts import axes, recipes, untimed
from fxrace.errors import UnknownPart, UsageError
from fxrace.records.sweep import Axis

ROOT = Path(__file__).parents[3]
GOOD = '"""Says what it does."""\nfrom x import Part\npart = Part(build=list{more})\n'


def write(root: Path, name: str, text: str) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    write(home, "harness/locking/__init__.py", 'AXIS = "What serialises"\n')
    write(home, "harness/locking/none.py", GOOD.format(more=", default=True"))
    write(home, "harness/locking/step.py", GOOD.format(more=", default=False"))
    write(home, "harness/locking/_shared.py", "part = 1\n")
    write(home, "harness/model/__init__.py", "")
    write(home, "harness/model/mask.py", GOOD.format(more=""))
    write(home, "harness/recipes/__init__.py", "")
    write(home, "harness/recipes/tiny.py", '"""Small."""\npreset = Preset(name="tiny")\n')
    return home


def named(found: tuple[Axis, ...], name: str) -> Axis:
    return next(axis for axis in found if axis.name == name)


def test_axes_are_the_folders_that_say_so(root: Path) -> None:
    found = axes([root])
    assert [axis.name for axis in found] == ["locking", "pressure"]
    locking = named(found, "locking")
    assert (locking.summary, locking.names) == ("What serialises", ("none", "step"))
    assert locking.defaults == ("none",)
    assert all(part.summary == "Says what it does." for part in locking.parts)
    assert all(part.problem is None for part in locking.parts)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('"""Fine."""\ndef f(:\n', "syntax error in line 2"),
        ('"""Fine."""\nPART = 1\n', "assigns no module-level 'part'"),
        ('"""Fine."""\npart = 3\n', "assigns no module-level 'part'"),
        ("part = Part(build=list)\n", "has no docstring"),
        ('"""Fine."""\npart = Part(x="\0")\n', "syntax error"),
    ],
)
def test_a_bad_file_is_kept_with_its_problem(root: Path, text: str, problem: str) -> None:
    write(root, "harness/locking/bad.py", text)
    parts = {part.name: part for part in named(axes([root]), "locking").parts}
    assert problem in str(parts["bad"].problem)
    assert parts["none"].problem is None


def test_a_file_of_undecodable_bytes_is_kept_too(root: Path) -> None:
    (root / "harness/locking/bytes.py").write_bytes(b"\xff\xfe\x00part")
    parts = {part.name: part for part in named(axes([root]), "locking").parts}
    assert parts["bytes"].problem


def test_annotated_parts_count(root: Path) -> None:
    write(root, "harness/locking/typed.py", '"""T."""\npart: Part = Part(default=True)\n')
    assert named(axes([root]), "locking").defaults == ("none", "typed")


def test_users_parts_join_the_axes(root: Path, tmp_path: Path) -> None:
    own = write(tmp_path / "own", "locking/mine.py", GOOD.format(more="")).parents[1]
    (own / "locking" / "__pycache__").mkdir()
    found = named(axes([root, own]), "locking")
    assert found.names == ("mine", "none", "step")
    assert found.parts[0].path == own / "locking" / "mine.py"


def test_a_misspelt_axis_folder_is_refused(root: Path, tmp_path: Path) -> None:
    write(tmp_path / "own", "lokcing/mine.py", GOOD.format(more=""))
    with pytest.raises(UnknownPart, match=r"lokcing.*locking, pressure"):
        axes([root, tmp_path / "own"])


def test_a_part_may_not_hide_another(root: Path, tmp_path: Path) -> None:
    write(tmp_path / "own", "locking/step.py", GOOD.format(more=""))
    with pytest.raises(UsageError, match="rename"):
        axes([root, tmp_path / "own"])


def test_a_folder_without_parts_is_refused(root: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for own in (tmp_path / "empty", tmp_path / "absent"):
        with pytest.raises(UsageError):
            axes([root, own])


def test_a_preset_says_that_it_is_not_timed(root: Path) -> None:
    assert not untimed(root, "tiny") and not untimed(root, "nowhere")
    write(root, "harness/recipes/tiny.py", '"""Small."""\npreset = Preset(untimed=True)\n')
    assert untimed(root, "tiny")
    assert [p.name for p in recipes(ROOT) if untimed(ROOT, p.name)] == ["tiny"]


def test_recipes_are_the_presets(root: Path) -> None:
    (tiny,) = recipes(root)
    assert (tiny.name, tiny.summary, tiny.problem) == ("tiny", "Small.", None)


def test_the_parts_that_ship_are_all_usable() -> None:
    found = axes([ROOT])
    assert {"locking", "checkpoint", "warmup", "attention", "pressure"} <= {a.name for a in found}
    assert [p.path for axis in found for p in axis.parts if p.problem] == []
    assert all(axis.summary and axis.parts for axis in found)


def test_reading_imports_neither_torch_nor_the_parts() -> None:
    code = (
        "import sys; from pathlib import Path; from fxrace.catalog.parts import axes;"
        f"axes([Path({str(ROOT)!r})]); print(*sys.modules)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    loaded = ran.stdout.split()
    assert "fxrace.catalog.parts" in loaded
    assert not [name for name in loaded if name.split(".")[0] in {"torch", "harness"}]
