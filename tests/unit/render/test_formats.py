"""Every format renders every document; the HTML page is closed, small and escaped."""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import re
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser

import pytest

from fxrace.errors import UnknownPart
from fxrace.records.document import SweepDocument
from fxrace.records.finding import Frame, Side
from fxrace.records.outcome import ThreadStack
from fxrace.records.verdict import Verdict
from fxrace.render import formats, html, renderer, text, trace_formats
from fxrace.render.exploration import html as exploration
from fxrace.render.view import sheet, stacks
from tests.unit.render import documents

HOSTILE = "</style><script>alert(1)</script>\x1b[2J\udc80\u202e{{ 7*7 }}\" onload='x' &amp; "


class Huge(str):
    """Text that a failing test does not print: pytest shows the arguments of every call."""

    def __repr__(self) -> str:
        return f"<{len(self)} characters>"


VOID = {"meta", "link", "br", "rect", "wbr", "input"}


class Page(HTMLParser):
    """Collects ids, link targets and tags; complains about tags that do not nest."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.targets: list[str] = []
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.sources: list[str] = []
        self.scripts: list[tuple[str | None, str]] = []
        self._open: list[str] = []
        self.feed(page)
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}
        values = dict(attrs)
        self.sources += [str(values[name]) for name in ("src", "href", "action") if name in values]
        if tag == "script":
            self.scripts.append((values.get("type"), ""))
        if values.get("id"):
            self.ids.append(str(values["id"]))
        if str(values.get("href", "")).startswith("#"):
            self.targets.append(str(values["href"])[1:])
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, _: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] == "script":
            kind, text = self.scripts[-1]
            self.scripts[-1] = kind, text + data

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag


def hostile(trials: int) -> SweepDocument:
    """Every text field hostile and huge, hung trials with endless stacks, many findings."""
    frames = tuple(Frame(file=HOSTILE * 40, line=n, function=HOSTILE * 9) for n in range(900))
    stack = tuple(
        ThreadStack(thread=HOSTILE, ident=1, frames=frames, source="py-spy") for _ in range(60)
    )
    axes = {**documents.AXES, "locking": ("none", HOSTILE)}
    plan = itertools.cycle(itertools.product(*axes.values()))
    huge = Huge(HOSTILE + "y" * 10_000_000)
    rows = [
        documents.trial(
            dict(zip(axes, values, strict=True)), n, Verdict.HUNG, repeat=n,
            symptom=Huge(f"{n} {huge}") if n < 3 else f"{n} {HOSTILE * 30}",
            stacks=stack, notes=(HOSTILE * 30,) * 9, replay=HOSTILE * 30,
        )
        for n, values in zip(range(trials), plan, strict=False)
    ]  # fmt: skip
    digests = tuple(row.digest for row in rows)
    side = Side(thread=HOSTILE, region=HOSTILE, access=HOSTILE, stack=frames, locks_held=(huge,))
    findings = tuple(
        documents.finding(
            digests, fingerprint=f"f{n}", title=huge, state=HOSTILE, hazard=HOSTILE,
            sides=(side, side), symptoms=(huge,) * 20, remedy=huge, references=(HOSTILE,) * 50,
        )
        for n in range(100)
    )  # fmt: skip
    return documents.document(
        rows, axes=axes, findings=findings, blind=((huge, huge),) * 500, run=HOSTILE
    )


DOCUMENTS = {
    "full": documents.sweep(),
    "empty": documents.document([]),
    "bare": documents.document([], axes={}, settings={}, blind=()),
    "one": documents.document(
        [documents.trial({"locking": "none"}, 1, Verdict.BROKEN, symptom="no")], axes={}
    ),
}


@pytest.mark.parametrize("name", DOCUMENTS)
@pytest.mark.parametrize("format_", sorted({*formats()} - {*trace_formats()}))
def test_every_format_renders(format_: str, name: str) -> None:
    assert renderer(format_)(DOCUMENTS[name]).strip()


def test_the_folder_is_the_registry() -> None:
    assert {"html", "json", "text"} <= set(formats())
    assert not {"live", "plain", "view"} & set(formats())
    with pytest.raises(UnknownPart):
        renderer("live")


def test_json_is_the_document() -> None:
    plain = json.loads(renderer("json")(DOCUMENTS["full"]))
    assert list(plain)[:2] == ["schema", "schema_version"]
    assert len(plain["trials"]) == len(DOCUMENTS["full"].trials)


#: Fragments that the page's own script answers.
ROUTES = ("cell-", "config-", "trial-", "trials-of-")


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_page_is_whole(name: str) -> None:
    page = Page(html.render(DOCUMENTS[name]))
    assert len(page.ids) == len(set(page.ids))
    assert {t for t in page.targets if not t.startswith(ROUTES)} <= set(page.ids)
    assert {"answer", "verdicts", "map", "front", "pace", "findings", "trials", "hung", "choices",
            "hazards", "environment", "blind"} <= set(page.ids)  # fmt: skip


def test_the_page_runs_its_own_scripts_only_and_loads_nothing() -> None:
    rendered = html.render(DOCUMENTS["full"])
    page = Page(rendered)
    assert not {name for name in page.attributes if name.startswith("on")} | (
        {"style", "src"} & page.attributes
    )
    assert all(source.startswith(("#", "data:,")) for source in page.sources)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', rendered)
    assert policy is not None
    rules = dict(rule.split(" ", 1) for rule in unescape(policy[1]).split("; "))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    style = re.search(r"<style>(.*?)</style>", rendered, re.S)
    assert style is not None
    assert rules["style-src"] == hashed(style[1])
    run = [text for kind, text in page.scripts if kind is None]
    assert rules["script-src"].split() == [hashed(text) for text in run]
    assert len(run) == 2
    assert not re.search(r"\beval\(|new Function", "".join(run))


def hashed(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def data_of(rendered: str) -> dict[str, object]:
    """The JSON document of a page, as its script reads it."""
    texts = [text for kind, text in Page(rendered).scripts if kind == "application/json"]
    assert len(texts) == 1
    found = json.loads(texts[0])
    assert isinstance(found, dict)
    return found


def test_hostile_text_stays_text_and_the_page_small() -> None:
    rendered = html.render(hostile(500))
    page = Page(rendered)
    assert len(page.scripts) == 3
    assert not page.attributes & {"onload", "style"}
    assert "{{ 7*7 }}" in rendered
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202e]", rendered)
    assert len(rendered.encode()) <= 2_000_000
    assert "more characters]" in rendered
    assert len(data_of(rendered)["trials"]) == 502  # type: ignore[arg-type]


def test_hostile_text_in_the_terminal() -> None:
    shown = text.render(hostile(5))
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert len(shown) < 100_000


def test_colour_only_when_asked() -> None:
    assert "\x1b[" in text.render(DOCUMENTS["full"], colour=True)
    assert "\x1b[" not in text.render(DOCUMENTS["full"])


def test_a_command_is_never_broken_over_lines() -> None:
    replay = "fxrace replay 0123456789abcdef -o " + "long/" * 60
    document = DOCUMENTS["full"]
    found = replace(document, findings=(documents.finding(("x",), replay=replay),))
    assert replay in text.render(found, width=80)


def test_the_programs_own_frames_come_first() -> None:
    folded = stacks.folded(documents.STACK_A)
    assert [frame.function for frame in folded.own] == ["Drafter.run", "Drafter.step"]
    assert len(folded.every) == len(documents.STACK_A)
    assert folded.innermost is documents.STACK_A[-1]
    shown = [stacks.shown_path(frame.file) for frame in documents.STACK_A[:4]]
    assert shown[0] == "/usr/lib/python3.11/threading.py"
    assert shown[1:] == ["harness/crew.py", "harness/loop.py", "torch/_dynamo/eval_frame.py"]
    endless = stacks.folded(documents.STACK_A * 100)
    assert len(endless.every) + endless.left_out == 800
    assert len(endless.every) == stacks.FRAMES
    assert endless.every[-1] is endless.innermost
    assert stacks.folded(()).innermost is None


def test_every_script_belongs_to_a_page_and_is_short() -> None:
    used = {*html.SCRIPTS.files, *exploration.SCRIPTS.files}
    files = {path.stem: path for path in sheet.PAGE.iterdir()}
    assert set(files) == used
    assert all(len(path.read_text().splitlines()) < 300 for path in files.values())


def test_what_others_wrote_comes_with_its_licence() -> None:
    folders = [path for path in sheet.VENDOR.iterdir() if path.is_dir()]
    assert {path.name for path in folders} == set(sheet.NOTICES)
    for folder in folders:
        assert "Apache License" in (folder / "LICENSE").read_text()
        version = re.search(r"\d+\.\d+\.\d+", sheet.NOTICES[folder.name])
        assert version is not None
        assert version[0] in (folder / "README.md").read_text()
        assert f"{folder.name} {version[0]}" in (folder / "LICENSE").read_text()
