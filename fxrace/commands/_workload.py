"""Options of a sweep that say what is trained on what, and the settings they become."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from fxrace.errors import UsageError
from fxrace.records.trial import Setting

TEXTS = ("phrase", "zipf", "stdlib")
TOKENS = (".npy", ".bin", ".jsonl")
USUAL: Mapping[str, Setting] = {
    "data": TEXTS[0],
    "documents": "joined",
    "model": "",
    "fail_fast": False,
    "kernel_options": "",
    "gil_share": False,
    "shared_cache": None,
}

_OPTIONS = (
    click.option(
        "--data",
        default=TEXTS[0],
        show_default=True,
        metavar="NAME|FILE",
        help="What is read: phrase, zipf, stdlib, or your tokens in .npy, .bin or .jsonl.",
    ),
    click.option(
        "--documents",
        default="joined",
        show_default=True,
        metavar="joined|apart|packed|[packed:]ID",
        help="Rows of a file: cross from document to document, hold one each, or several with "
        "nothing seen across their borders. A document ends with its line of .jsonl, or with the "
        "token ID (alone: one each; packed:ID: several).",
    ),
    click.option(
        "--target",
        "model",
        type=click.Path(path_type=Path),
        default=None,
        metavar="DIR",
        help="Your own target: a Hugging Face folder, loaded through transformers.",
    ),
    click.option(
        "--kernel-options",
        default="",
        metavar="NAME=N,...",
        help="Kernel options of compiled flex_attention.",
    ),
    click.option(
        "--fail-fast/--no-fail-fast",
        default=False,
        show_default=True,
        help="Let a drafter that fails stop the others, even those that do not need it.",
    ),
    click.option(
        "--gil-share/--no-gil-share",
        default=False,
        show_default=True,
        help="Let py-spy sample which share of the time each thread holds the GIL; costs speed.",
    ),
    click.option(
        "--shared-cache/--no-shared-cache",
        default=None,
        help="Let trials on GPUs find what others compiled: hides races in code generation, saves "
        "minutes a trial where kernels are large. [default: the preset's]",
    ),
)


def options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds these options to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def settings(given: Mapping[str, Any]) -> dict[str, Setting]:
    """What differs from the usual, so that the usual changes no trial's digest.

    Raises UsageError for a file or folder that is not there or of no known kind.
    """
    found: dict[str, Setting] = {
        "data": _data(given["data"]),
        "documents": _documents(given["documents"], given["data"]),
        "model": _model(given["model"]),
        "fail_fast": given["fail_fast"],
        "kernel_options": given["kernel_options"],
        "gil_share": given["gil_share"],
        "shared_cache": given["shared_cache"],
    }
    return {name: value for name, value in found.items() if value != USUAL[name]}


def _data(given: str) -> str:
    if given in TEXTS:
        return given
    path = Path(given)
    if path.suffix not in TOKENS:
        raise UsageError(
            f"--data {given} is none of {', '.join(TEXTS)}",
            remedy=f"or give a file that ends in {', '.join(TOKENS)}",
        )
    if not path.is_file():
        raise UsageError(f"--data {given}: there is no such file")
    return str(path.absolute())


def _documents(given: str, data: str) -> str:
    end = given.removeprefix("packed:")
    if given not in ("joined", "apart", "packed") and not (end.isascii() and end.isdigit()):
        raise UsageError(
            f"--documents {given} is none of joined, apart, packed, packed:ID and a token's id",
            remedy="give the id that ends each document, such as 151643 or packed:151643",
        )
    if given != "joined" and data in TEXTS:
        raise UsageError(f"--documents {given}: {data} has none", remedy="give --data a file")
    if given in ("apart", "packed") and Path(data).suffix != ".jsonl":
        raise UsageError(
            f"--documents {given}: {data} does not say where they end",
            remedy="give the id of the token that ends each"
            + (", as packed:ID" if given == "packed" else ""),
        )
    return given


def _model(given: Path | None) -> str:
    if given is None:
        return ""
    if not (given / "config.json").is_file():
        raise UsageError(
            f"--target {given} holds no config.json",
            remedy="give a folder that transformers can load",
        )
    return str(given.absolute())
