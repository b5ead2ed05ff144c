"""The catalogue of hazards as verbs see it: which hazards were asked for, on which torches.

Shared by ``repro`` and ``bisect``. What starts interpreters is imported when one is asked.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from fxrace.catalog.hazards import read_hazards
from fxrace.errors import UsageError
from fxrace.launch import bundled
from fxrace.records.hazard import Catalogue, Hazard

if TYPE_CHECKING:
    from fxrace.records.repro import Torch


def catalogue() -> Catalogue:
    """Everything that the scripts of this installation declare."""
    return read_hazards(bundled.root())


def chosen(known: Catalogue, words: Sequence[str]) -> tuple[Hazard, ...]:
    """The hazards of these slugs or patterns (``fx-*``), all of them for none.

    Raises UsageError for a word that names none, with what is spelled much like it.
    """
    if not words:
        return known.hazards
    wanted: dict[str, Hazard] = {}
    for word in words:
        found = {h.slug: h for h in known.hazards if fnmatchcase(h.slug, word)}
        if not found:
            raise _unknown(known, word)
        wanted |= found
    return tuple(wanted.values())


def torches(pythons: Sequence[str]) -> tuple[Torch, ...]:
    """Each interpreter with its torch, this one for none. Raises InterpreterUnusable."""
    from fxrace.launch import interpreter, script
    from fxrace.records.repro import Torch

    paths = dict.fromkeys(interpreter.resolve(python) for python in pythons or (sys.executable,))
    return tuple(Torch(python=path, version=script.torch_version(path)) for path in paths)


def _unknown(known: Catalogue, word: str) -> UsageError:
    import difflib

    if problem := next((p for p in known.problems if p.slug == word), None):
        return UsageError(f"{word} cannot be used: {problem.reason}")
    slugs = [hazard.slug for hazard in known.hazards]
    near = difflib.get_close_matches(word, slugs, n=3, cutoff=0.5)
    near += [slug for slug in slugs if word in slug and slug not in near][:3]
    hint = f"did you mean {', '.join(near)}? " if near else ""
    return UsageError(f"unknown hazard {word!r}", remedy=f"{hint}fxrace repro --list names all")
