"""``fxrace dump`` as a shell sees it: the document, the text, the exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner

from fxrace import cli
from fxrace.commands import dump
from fxrace.errors import ExitCode
from fxrace.records import wire
from fxrace.records.document import DumpDocument
from fxrace.records.finding import Frame
from fxrace.records.stuck import Classification, Edge

ROOT = Path(dump.__file__).parents[2]


@pytest.fixture(scope="module")
def sleeper() -> Iterator[int]:
    code = "import time; print(flush=True); time.sleep(600)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as program:
        assert program.stdout is not None
        program.stdout.readline()
        yield program.pid
        program.kill()


def shell(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "fxrace", "dump", *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)


def test_one_document(sleeper: int) -> None:
    ran = shell(str(sleeper), "--json")
    assert (ran.returncode, ran.stderr) == (0, "")
    plain = json.loads(ran.stdout)
    jsonschema.Draft202012Validator(wire.schema(DumpDocument)).validate(plain)
    assert list(plain)[:2] == ["schema", "schema_version"]
    assert (plain["pid"], plain["classification"]) == (sleeper, "external_wait")


@pytest.mark.parametrize("words", [("x",), ("0",), (str(2**22 + 1),), ("1", "--record", "/no/f")])
def test_nonsense_is_one_sentence(words: tuple[str, ...]) -> None:
    ran = shell(*words)
    assert ran.returncode == ExitCode.USAGE
    assert ran.stdout == ""
    assert len(ran.stderr.splitlines()) == 1


def document(word: Classification) -> DumpDocument:
    stack = (Frame(file="/home/me/train.py", line=7, function="step\x1b[31m"),)
    edge = Edge(waiter="a\x1b[2J", waits_for="x", held_by="b", stack=stack)
    return DumpDocument(
        schema="fxrace.dump",
        schema_version=1,
        pid=1,
        classification=word,
        reason="r",
        circle=(edge,),
        threads=(),
    )


@pytest.mark.parametrize(
    ("word", "code"),
    [(word, 3 if word is Classification.UNKNOWN else 0) for word in Classification],
)
def test_exit_codes(monkeypatch: pytest.MonkeyPatch, word: Classification, code: int) -> None:
    monkeypatch.setattr(dump, "document_of", lambda pid, record: document(word))
    ran = CliRunner().invoke(cli.main, ["dump", str(os.getpid())])
    assert ran.exit_code == code
    assert ran.output.startswith(word.value)


def test_text_of_the_process_cannot_move_the_cursor() -> None:
    told = dump.told(document(Classification.DEADLOCK))
    assert "\x1b" not in told
    assert "/home/me/train.py:7" in told
