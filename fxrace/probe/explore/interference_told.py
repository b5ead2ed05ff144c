"""A confirmed difference as the data of a ``difference`` event: what the parent makes findings of.

The fingerprint comes from the State and the region that had it borrowed; without a State, from
the frames. It does not depend on the symptom, so that an error here and a wrong number there with
one cause are one finding (which is why its tier is fixed).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fxrace.core.fingerprint import fingerprint, site
from fxrace.core.frames import frames_of
from fxrace.core.states import by_name
from fxrace.probe.explore import stop_token
from fxrace.probe.explore.interference_cause import Cause
from fxrace.probe.explore.interference_course import Prepared
from fxrace.probe.explore.interference_fork import Heard
from fxrace.probe.explore.interference_search import AGAIN, CRASHED, HUNG, QUIESCENT, A, B, shape
from fxrace.records.finding import Tier

_REGIONS = (
    ("fx/_symbolic_trace.py", "trace", "trace"),
    ("_dynamo/convert_frame.py", "_compile", "compile"),
    ("_higher_order_ops/flex_attention.py", "create_fw_bw_graph", "hop"),
    ("experimental/proxy_tensor.py", "dispatch_trace", "make_fx"),
    ("_inductor/compile_fx.py", "compile_fx_inner", "inductor"),
    ("_functorch/aot_autograd.py", "create_aot_dispatcher_function", "aot"),
    ("_functorch/aot_autograd.py", "aot_stage1_graph_capture", "aot"),
    ("export/_trace.py", "_export", "export"),
    ("export/_trace.py", "_export_for_training", "export"),
    ("utils/checkpoint.py", "checkpoint", "checkpoint"),
    ("_dynamo/eval_frame.py", "set_stance", "stance"),
)


def region_of(frames: Sequence[Sequence[Any]], state: str | None) -> str:
    """The region A was in: of those that borrow the State, the innermost; else the innermost."""
    inside: list[str] = []
    for file, _, function in frames:
        bare = str(function).rsplit(".", 1)[-1]
        inside += [r for f, name, r in _REGIONS if str(file).endswith(f) and bare == name]
    row = by_name(state) if state else None
    if row is not None:
        borrowing = [one for one in inside if one in (row.borrowed_by, *row.also_borrowed_by)]
        return borrowing[-1] if borrowing else row.borrowed_by
    return inside[-1] if inside else "operation"


def difference(
    prepared: Prepared,
    *,
    name: str,
    b_point: str,
    party: str,
    symptom: str,
    count: int,
    shown: tuple[int, int],
    heard: Heard,
    cause: Cause,
) -> dict[str, Any]:
    """See ``fxrace.records.event``, kind ``difference``."""
    stop = heard.last("stop") or heard.last("inside") or heard.last("blocked") or {}
    stacks = heard.last("stacks") or stop
    frames = stacks.get("frames") or []
    error = _error(heard, party)
    b_frames = stacks.get("b_frames") or []
    if party == B and error is not None:
        b_frames = error["frames"]
    region = region_of(frames, cause.state)
    return {
        "a": prepared.a.name,
        "b": prepared.b.name,
        "wrong": party.partition(":")[0],
        "tier": _tier(party, error).value,
        "symptom": symptom,
        "error": error,
        "state": cause.state,
        "proof": cause.proof.value,
        "others_off": list(cause.others),
        "value": _value(stop, cause.state or ""),
        "point": name,
        "b_point": b_point,
        "token": stop_token.written(prepared.a.name, prepared.b.name, name, b_point),
        "count": count,
        "shown": {"k": shown[0], "n": shown[1]},
        "region": region,
        "frames": {"a": frames, "b": b_frames},
        "locks": {"a": ["torch._dynamo.compile_lock"] if stop.get("locked") else [], "b": []},
        "fingerprint": _fingerprint(cause, region, error, party, symptom, name),
    }


def _tier(party: str, error: Mapping[str, Any] | None) -> Tier:
    if error is not None or party in (HUNG, CRASHED):
        return Tier.FAILURE
    return Tier.LEAK if party.startswith((QUIESCENT, AGAIN)) else Tier.SILENT_WRONG


def _value(stop: Mapping[str, Any], state: str) -> dict[str, str]:
    """What the State was before A began, when B began, and when B had ended."""
    moments = ("before", "during", "after")
    return {moment: (stop.get(moment) or {}).get(state, "") for moment in moments}


def _fingerprint(
    cause: Cause, region: str, error: Mapping[str, Any] | None, party: str, symptom: str, name: str
) -> str:
    if cause.state is not None:
        return fingerprint(Tier.FAILURE, state=cause.state, regions=(region,))
    if error is not None:
        root = error["causes"][-1] if error.get("causes") else error
        return fingerprint(Tier.FAILURE, state=None, key=site(frames_of(root["frames"])))
    where = shape(symptom).split(" is ")[0].split(" has ")[0]
    return fingerprint(Tier.FAILURE, state=None, regions=(region,), key=(party, where, name))


def _error(heard: Heard, party: str) -> dict[str, Any] | None:
    """The error of the side that came out wrong."""
    if party == A:
        outcome = (heard.last("end") or {}).get("a") or {}
    elif party == AGAIN:
        outcome = (heard.last("again") or {}).get("b") or {}
    else:
        message = heard.last("stop") or {}
        outcome = message.get("b") or (heard.last("unblocked") or {}).get("b") or {}
    found: dict[str, Any] | None = outcome.get("raised")
    return found
