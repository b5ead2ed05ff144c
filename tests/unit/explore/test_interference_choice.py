"""Which stops a budget allows, and in which order causes are tried."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fxrace.probe.explore.interference_cause import Cause, Proof, ranked_by_surface
from fxrace.probe.explore.interference_reference import Point, chosen
from fxrace.probe.explore.interference_search import shape
from fxrace.probe.explore.interference_told import region_of


def points(*offs: str) -> list[Point]:
    return [
        Point(name=f"p{index}", off=(off,) if off else (), locked=False)
        for index, off in enumerate(offs)
    ]


def test_a_budget_that_is_enough_takes_every_point() -> None:
    assert chosen(points("", "flag", ""), 3) == ["p0", "p1", "p2"]


def test_the_borders_of_every_situation_come_first() -> None:
    many = points(*[""] * 50, *["flag"] * 20, *[""] * 50, *["patched"] * 2, *[""] * 50)
    assert {"p0", "p171", "p50", "p69", "p120", "p121"} <= set(chosen(many, 8))


@given(st.lists(st.sampled_from(["", "a", "b"]), max_size=60), st.integers(1, 30))
def test_stops_are_points_in_order_within_the_budget(offs: list[str], budget: int) -> None:
    given_ = points(*offs)
    stops = chosen(given_, budget)
    assert len(stops) <= budget or len(given_) <= budget
    order = [point.name for point in given_]
    assert stops == sorted(set(stops), key=order.index)
    assert stops == chosen(given_, budget)


def test_what_surfaces_where_it_raised_is_tried_first() -> None:
    off = ("fx.patcher", "nn.module_call", "fx.tracing_flag")
    error = {
        "frames": [["/x/torch/_dynamo/eval_frame.py", 1, "compile_wrapper"]],
        "causes": [],
    }
    assert ranked_by_surface(off, error, None)[0] == "fx.tracing_flag"
    assert ranked_by_surface(off, None, "nn.module_call")[0] == "nn.module_call"
    assert ranked_by_surface(off, error, "not.off")[0] == "fx.tracing_flag"
    assert sorted(ranked_by_surface(off, None, None)) == sorted(off)


def test_only_what_was_healed_is_healed_again() -> None:
    off = ("a", "b")
    assert Cause(state="a", proof=Proof.HEALED, others=("b",)).course(off) == {"heal": ("a",)}
    together = Cause(state="a", proof=Proof.HEALED_WITH_OTHERS, others=("b",))
    assert together.course(off) == {"heal": ("a", "b")}
    assert together.course(("a",)) is None
    assert Cause(state="m:x", proof=Proof.HEALED, paths=("m:x",)).course(()) == {"wide": ("m:x",)}
    assert Cause(state="a", proof=Proof.UNDONE).course(off) is None
    assert Cause(state=None, proof=Proof.NONE).course(off) is None


def test_the_region_is_one_that_borrows_the_state() -> None:
    frames = [
        ["/x/torch/_dynamo/convert_frame.py", 1, "_compile"],
        ["/x/torch/fx/_symbolic_trace.py", 1, "Tracer.trace"],
    ]
    assert region_of(frames, "compiler.is_compiling") == "compile"
    assert region_of(frames, "fx.tracing_flag") == "trace"
    assert region_of(frames, None) == "trace"
    assert region_of([], "fx.tracing_flag") == "trace"
    assert region_of([], None) == "operation"


def test_symptoms_group_without_their_numbers() -> None:
    assert shape("values[0] is 1.25, alone 3") == shape("values[1] is 7, alone 0.5")
    assert shape("a is 1") != shape("b is 1")
