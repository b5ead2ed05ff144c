"""Finds the interpreter that runs trials and builds the command that starts fxrace inside it.

The interpreter may belong to another environment. Putting fxrace's parent folder on its path
would hand it this environment's torch as well, so the command loads the one package by file.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import fxrace
from fxrace.errors import InterpreterUnusable
from fxrace.launch import py_spy

_BOOT = """
import sys
sys.version_info >= (3, 10) or sys.exit("Python %d.%d is too old: 3.10 or newer is needed"
    % sys.version_info[:2])
if sys.path and sys.path[0] == "": del sys.path[0]
from importlib.util import module_from_spec, spec_from_file_location
home = sys.argv.pop(1)
spec = spec_from_file_location("fxrace", home + "/__init__.py", submodule_search_locations=[home])
sys.modules["fxrace"] = package = module_from_spec(spec)
spec.loader.exec_module(package)
import runpy
runpy.run_module(sys.argv.pop(1), run_name="__main__", alter_sys=True)
"""


def resolve(python: Path | str) -> Path:
    """The interpreter as an absolute path, symbolic links kept (they select the environment).

    A bare name is looked up on PATH. Raises ``InterpreterUnusable``.
    """
    text = os.fspath(python)
    if os.sep not in text:
        found = shutil.which(text)
        if found is None:
            raise InterpreterUnusable(
                f"no interpreter {text!r} on PATH", remedy="give --python the path of one"
            )
        return Path(found).absolute()
    path = Path(text).expanduser().absolute()
    if path.is_dir():
        raise InterpreterUnusable(
            f"{path} is a folder, not an interpreter", remedy=f"try {path / 'bin' / 'python'}"
        )
    if not path.exists():
        raise InterpreterUnusable(f"no interpreter at {path}", remedy="check --python")
    if not os.access(path, os.X_OK):
        raise InterpreterUnusable(f"{path} is not executable", remedy="check --python")
    return path


def command(python: Path, module: str, *arguments: str) -> tuple[str, ...]:
    """The command line that runs ``module`` of this very fxrace under ``python``."""
    home = Path(fxrace.__file__).absolute().parent
    return (str(python), "-c", _BOOT, str(home), module, *arguments)


def variables(roots: Sequence[Path], *, forks: bool) -> dict[str, str]:
    """The environment of everything started there: import path, no caches, no compile pool,
    and where py-spy is, which that interpreter need not have.

    ``forks`` keeps OpenMP and CUDA from starting threads, which a fork would lose.
    """
    inherited = os.environ.get("PYTHONPATH")
    path = [str(root) for root in roots] + ([inherited] if inherited else [])
    fixed = {
        "PYTHONPATH": os.pathsep.join(path),
        "PYTHONUNBUFFERED": "1",
        "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1",
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
    }
    if forks:
        fixed |= {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    if found := py_spy.program():
        fixed["FXRACE_PY_SPY"] = found
    return {**os.environ, **fixed}
