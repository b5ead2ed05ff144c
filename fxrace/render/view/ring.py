"""Waits drawn: threads as numbered nodes on a circle, an arrow from each to what it waits for.

Decoration for the eye: every edge stands beside it in words, with its stack. An arrow bears the
last part of a lock's name. Only attributes are used, never inline styles: the page forbids them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup, escape

from fxrace.records.stuck import Edge
from fxrace.render.view import words

WIDTH, HEIGHT, NODE = 420, 300, 17
NODES, NAME, LOCK = 8, 22, 30
_HEAD = (
    '<defs><marker id="{id}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7"'
    ' orient="auto-start-reverse"><path class="r-head" d="M0 0L10 5L0 10z"/></marker></defs>'
)


def drawn(edges: Sequence[Edge], name: str) -> Markup:
    """An SVG, empty where there is no edge with two ends. ``name`` is unique on the page."""
    closed = [edge for edge in edges if edge.held_by is not None]
    threads = list(dict.fromkeys(t for e in closed for t in (e.waiter, e.held_by or "")))[:NODES]
    if len(threads) < 2:
        return Markup("")
    places = {thread: _place(number, len(threads)) for number, thread in enumerate(threads)}
    parts = [_HEAD.format(id=escape(name))]
    for edge in closed:
        ends = places.get(edge.waiter), places.get(edge.held_by or "")
        if ends[0] and ends[1] and ends[0] != ends[1]:
            parts.append(_arrow(ends[0], ends[1], edge.waits_for, name))
    parts += [_node(number, thread, places[thread]) for number, thread in enumerate(threads, 1)]
    head = f'<svg class="ring" viewBox="0 0 {WIDTH} {HEIGHT}" aria-hidden="true">'
    return Markup(f"{head}{''.join(parts)}</svg>")


def _place(number: int, total: int) -> tuple[float, float]:
    turn = 2 * math.pi * number / total - math.pi / 2
    wide, high = WIDTH / 2 - 78, HEIGHT / 2 - 52
    return WIDTH / 2 + wide * math.cos(turn), HEIGHT / 2 + high * math.sin(turn)


def _arrow(a: tuple[float, float], b: tuple[float, float], lock: str, name: str) -> str:
    """A bow, so that two threads that wait for each other have two arrows."""
    (ax, ay), (bx, by) = a, b
    long = math.hypot(bx - ax, by - ay)
    dx, dy = (bx - ax) / long, (by - ay) / long
    mx, my = (ax + bx) / 2 + dy * long * 0.24, (ay + by) / 2 - dx * long * 0.24
    start = _toward(a, (mx, my), NODE + 1)
    end = _toward(b, (mx, my), NODE + 3)
    label = escape(words.one_line(lock, 200).rpartition(".")[2][-LOCK:])
    tx, ty = (start[0] + 2 * mx + end[0]) / 4, (start[1] + 2 * my + end[1]) / 4
    return (
        f'<path class="r-edge" marker-end="url(#{escape(name)})" d="M{start[0]:.0f} {start[1]:.0f}'
        f'Q{mx:.0f} {my:.0f} {end[0]:.0f} {end[1]:.0f}"/>'
        f'<text class="r-lock" x="{tx:.0f}" y="{ty + 4:.0f}">{label}</text>'
    )


def _toward(a: tuple[float, float], b: tuple[float, float], by: float) -> tuple[float, float]:
    long = math.hypot(b[0] - a[0], b[1] - a[1]) or 1.0
    return a[0] + (b[0] - a[0]) * by / long, a[1] + (b[1] - a[1]) * by / long


def _node(number: int, thread: str, at: tuple[float, float]) -> str:
    x, y = at
    below = y >= HEIGHT / 2 - 1
    label = escape(words.one_line(thread, 200)[:NAME])
    return (
        f'<circle class="r-node" cx="{x:.0f}" cy="{y:.0f}" r="{NODE}"/>'
        f'<text class="r-number" x="{x:.0f}" y="{y + 5:.0f}">{number}</text>'
        f'<text class="r-name" x="{x:.0f}" y="{y + (NODE + 16 if below else -NODE - 6):.0f}">'
        f"{label}</text>"
    )
