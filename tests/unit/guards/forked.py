"""Runs a scenario in a process forked from one that has torch imported and nothing else done.

So a red scenario poisons nobody, and a mutated guard costs a fork and not an import of torch.
"""

from __future__ import annotations

import multiprocessing
import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

LIMIT_S = 120.0
PACKAGE = "fxrace.guards"

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(
    [
        "torch",
        "torch._dynamo",
        "torch._dynamo.testing",
        "torch._functorch.aot_autograd",
        "torch._inductor.config",
        "torch._higher_order_ops.flex_attention",
        "torch.export._trace",
        "torch.fx.experimental.proxy_tensor",
        "torch.utils.checkpoint",
        "torch.nn.attention.flex_attention",
        "torch._dynamo.backends.inductor",
        "torch._dynamo.repro.after_dynamo",
        "torch._inductor.compiler_bisector",
        "torch._inductor.loop_body",
        "torch._subclasses.schema_check_mode",
        "torch.distributed.tensor.experimental",
        "torch.fx.experimental.validator",
        "tests.unit.guards.parked",
    ]
)


def outcome(
    scenario: str, guards: tuple[str, ...] = (), mutant: tuple[str, str, str] | None = None,
    module: str = "scenarios", **options: Any,
) -> list[str]:  # fmt: skip
    """What went wrong in it, with these guards on; ``mutant`` is (file, line, other line)."""
    receiving, sending = _context.Pipe(duplex=False)
    process = _context.Process(
        target=_run, args=(sending, module, scenario, guards, options, mutant), daemon=True
    )
    process.start()
    sending.close()
    try:
        if not receiving.poll(LIMIT_S):
            return ["it hangs"]
        found: list[str] = receiving.recv()
        return found
    except EOFError:
        process.join(5)
        return [f"it died with {process.exitcode}"]
    finally:
        process.kill()
        process.join(5)


def _run(
    sending: Any, module: str, scenario: str, guards: tuple[str, ...], options: dict[str, Any],
    mutant: tuple[str, str, str] | None,
) -> None:  # fmt: skip
    import importlib

    try:
        if mutant is not None:
            sys.meta_path.insert(0, Mutating(*mutant))
        from fxrace.guards import install

        torch_side = importlib.import_module(f"tests.unit.guards.{module}")
        with install(*guards, **options):
            sending.send(getattr(torch_side, scenario)())
    except BaseException as error:
        from tests.unit.guards.parked import told

        sending.send([f"raised {told(error)}"])


class Mutating(MetaPathFinder):
    """Imports one file of the guards with one of its lines changed."""

    def __init__(self, file: str, line: str, other: str) -> None:
        self._name = f"{PACKAGE}.{file}"
        self._line, self._other = line, other

    def find_spec(
        self, name: str, path: Any = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != self._name:
            return None
        spec = PathFinder.find_spec(name, path, target)
        assert spec is not None and spec.origin is not None
        text = Path(spec.origin).read_text()
        assert text.count(self._line) == 1, (
            f"{self._line!r} is there {text.count(self._line)} times"
        )
        spec.loader = _Changed(name, spec.origin, text.replace(self._line, self._other))
        return spec


class _Changed(SourceFileLoader):
    def __init__(self, name: str, path: str, text: str) -> None:
        super().__init__(name, path)
        self._text = text

    def get_code(self, fullname: str) -> CodeType:
        return compile(self._text, self.path, "exec")
