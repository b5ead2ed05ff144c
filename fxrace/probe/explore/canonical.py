"""Results as plain values that compare across processes, and the sentence that says what differs.

A result crosses a pipe and is compared with one from another process, so it becomes lists,
dictionaries and numbers: tensors by dtype, shape and values, graphs by the topology of their
nodes (names become positions), modules by their parameters, functions by place, errors by type.

The surprise: it runs beside a thread that may have patched ``nn.Module``, so it never looks an
attribute up through a module's ``__getattr__``; it reads ``__dict__`` instead.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fxrace.probe.failure import described
from fxrace.probe.states import told

_ADDRESS = re.compile(r" at 0x[0-9a-f]+|\b0x[0-9a-f]{6,}|\bid=\d+")
_CLOSE = 1e-4
_SHOWN = 90


def returned(value: Any) -> dict[str, Any]:
    """The outcome of a run that ended."""
    return {"returned": canonical(value)}


def raised(error: BaseException) -> dict[str, Any]:
    """The outcome of a run that did not."""
    return {"raised": described(error)}


def without_addresses(text: str) -> str:
    """The text less what differs from process to process."""
    return _ADDRESS.sub("", text)


def canonical(value: Any, depth: int = 0) -> Any:
    """JSON-able. Equal for results that a program could not tell apart."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if type(value) in (int, float):
        return value
    if depth > 12:
        return "..."
    if isinstance(value, Mapping) and not hasattr(value, "_modules"):
        return {
            "is": "mapping",
            "items": [[_key(k), canonical(v, depth + 1)] for k, v in value.items()],
        }
    if isinstance(value, (list, tuple)):
        return [canonical(one, depth + 1) for one in value]
    if isinstance(value, (set, frozenset)):
        return {"is": "set", "items": sorted(str(canonical(one, depth + 1)) for one in value)}
    return _object(value, depth)


def _object(value: Any, depth: int) -> Any:
    import torch

    if isinstance(value, torch.Tensor):
        return _tensor(value)
    if isinstance(value, torch.fx.Graph):
        return _graph(value)
    if isinstance(value, torch.fx.GraphModule):
        return _graph_module(value, depth)
    if isinstance(value, torch.nn.Module):
        return _module(value, depth)
    if type(value).__name__ == "ExportedProgram":
        inputs = [str(spec.kind) for spec in value.graph_signature.input_specs]
        outputs = [str(spec.kind) for spec in value.graph_signature.output_specs]
        program = canonical(value.graph_module, depth + 1)
        return {"is": "program", "inputs": inputs, "outputs": outputs, "program": program}
    if isinstance(value, BaseException):
        return {"is": "error", "type": type(value).__qualname__}
    return _plain_text(value)


def _tensor(value: Any) -> dict[str, Any]:
    import torch

    kind = type(value).__name__
    told_: dict[str, Any] = {
        "is": "Tensor" if kind in ("Parameter", "Buffer") else kind,
        "dtype": str(value.dtype),
        "shape": [str(n) if not isinstance(n, int) else n for n in value.shape],
        "device": value.device.type,
        "grad": bool(value.requires_grad),
    }
    plain = told_["is"] == "Tensor" and value.layout is torch.strided
    if plain and value.device.type == "cpu" and value.numel() <= 4096:
        with torch.no_grad():
            told_["values"] = _numbers(value.detach().resolve_conj().tolist())
    return told_


def _numbers(value: Any) -> Any:
    if isinstance(value, list):
        return [_numbers(one) for one in value]
    return str(value) if isinstance(value, complex) else value


def _graph(graph: Any) -> dict[str, Any]:
    at = {node: f"%{index}" for index, node in enumerate(graph.nodes)}

    def argument(value: Any) -> Any:
        if hasattr(value, "op") and hasattr(value, "graph"):
            return at.get(value, "a node of another graph")
        if isinstance(value, (list, tuple)):
            return [argument(one) for one in value]
        if isinstance(value, Mapping):
            return {str(k): argument(v) for k, v in value.items()}
        if isinstance(value, slice):
            return ["slice", argument(value.start), argument(value.stop), argument(value.step)]
        return value if isinstance(value, (int, float, str, type(None))) else _plain_text(value)

    nodes = [
        [node.op, _plain_text(node.target), argument(node.args), argument(node.kwargs)]
        for node in graph.nodes
    ]
    return {"is": "graph", "nodes": nodes, "meta": [_meta(node) for node in graph.nodes]}


def _meta(node: Any) -> list[str]:
    """Which kinds of metadata a node carries; what lost them is a silent wrong."""
    found = [key for key in node.meta if isinstance(key, str) and key != "from_node"]
    if node.meta.get("custom"):
        found.append(f"custom={_plain_text(node.meta['custom'])}")
    return sorted(found)


def _graph_module(value: Any, depth: int) -> dict[str, Any]:
    inner = value.__dict__.get("_modules", {})
    bodies = {
        str(name): canonical(module, depth + 1)
        for name, module in inner.items()
        if isinstance(module, type(value)) or hasattr(type(module), "graph")
    }
    return {"is": "graph module", "graph": _graph(value.__dict__["_graph"]), "bodies": bodies}


def _module(value: Any, depth: int) -> dict[str, Any]:
    own = value.__dict__
    return {
        "is": type(value).__name__,
        "training": own.get("training"),
        "tensors": {
            name: canonical(tensor, depth + 1)
            for kind in ("_parameters", "_buffers")
            for name, tensor in own.get(kind, {}).items()
        },
        "hooks": len(own.get("_forward_hooks", ())),
        "modules": {n: canonical(m, depth + 1) for n, m in own.get("_modules", {}).items()},
    }


def _plain_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if hasattr(value, "__code__"):
        return told(value)
    if isinstance(value, type) or (callable(value) and hasattr(value, "__qualname__")):
        return f"{getattr(value, '__module__', '')}.{value.__qualname__}"
    return without_addresses(repr(value))[:300]


def _key(value: Any) -> str:
    return value if isinstance(value, str) else _plain_text(value)


def outcomes_differ(got: Mapping[str, Any], alone: Mapping[str, Any]) -> str | None:
    """One sentence on how a run's outcome differs from that of a run alone, or None."""
    return next((said for _, said in _outcome_differences(got, alone)), None)


def differs_from_all(got: Mapping[str, Any], allowed: Sequence[Mapping[str, Any]]) -> str | None:
    """One sentence where the outcome is none of those allowed: on what no allowed one has."""
    found = [dict(_outcome_differences(got, one)) for one in allowed]
    if not all(found):
        return None
    common = [path for path in found[0] if all(path in one for one in found[1:])]
    return found[0][common[0]] if common else next(iter(found[0].values()))


def _outcome_differences(
    got: Mapping[str, Any], alone: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    if "raised" in got:
        what = f"{got['raised']['type']}: {_short(got['raised']['message'])}"
        if "raised" not in alone:
            yield "raised", f"raised {what}"
        elif got["raised"]["type"] != alone["raised"]["type"]:
            yield "raised", f"raised {what}; alone {alone['raised']['type']}"
    elif "raised" in alone:
        yield "raised", f"did not raise {alone['raised']['type']} as it does alone"
    else:
        yield from differences(got["returned"], alone["returned"])


def differences(got: Any, alone: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """(Place, sentence) of every difference of two canonical values."""
    if isinstance(got, Mapping) and isinstance(alone, Mapping):
        yield from _of_mappings(got, alone, path)
    elif isinstance(got, list) and isinstance(alone, list):
        yield from _of_lists(got, alone, path)
    elif type(got) in (int, float) and type(alone) in (int, float):
        if not _close(float(got), float(alone)):
            yield path, f"{path or 'the result'} is {_short(got)}, alone {_short(alone)}"
    elif type(got) is not type(alone) or got != alone:
        yield path, f"{path or 'the result'} is {_short(got)}, alone {_short(alone)}"


def _of_mappings(
    got: Mapping[str, Any], alone: Mapping[str, Any], path: str
) -> Iterator[tuple[str, str]]:
    if got.get("is") == "mapping" and alone.get("is") == "mapping":
        got, alone = dict(got["items"]), dict(alone["items"])
    elif got.get("is") != alone.get("is"):
        yield path, f"{path or 'the result'} is a {_kind(got)}, alone a {_kind(alone)}"
        return
    for name in [*alone, *(name for name in got if name not in alone)]:
        here = f"{path}.{name}" if path else name
        if name not in got:
            yield here, f"{here} is missing"
        elif name not in alone:
            yield here, f"{here} is there, alone it is not"
        else:
            yield from differences(got[name], alone[name], here)


def _of_lists(got: list[Any], alone: list[Any], path: str) -> Iterator[tuple[str, str]]:
    if len(got) != len(alone):
        more = next((g for g, a in zip(got, alone, strict=False) if g != a), (got or alone)[-1])
        what = f"has {len(got)} entries, alone {len(alone)}: {_short(more)}"
        yield path, f"{path or 'the result'} {what}"
        return
    for index, (one, other) in enumerate(zip(got, alone, strict=True)):
        yield from differences(one, other, f"{path}[{index}]")


def _kind(value: Mapping[str, Any]) -> str:
    return str(value.get("is", "mapping"))


def _close(got: float, alone: float) -> bool:
    if math.isnan(got) or math.isnan(alone):
        return math.isnan(got) and math.isnan(alone)
    return got == alone or abs(got - alone) <= _CLOSE * max(1.0, abs(alone))


def _short(value: Any) -> str:
    text = value.splitlines()[0] if isinstance(value, str) and value else repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
