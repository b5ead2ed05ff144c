"""Where ``harness/`` and ``repros/`` live, which fxrace runs but never imports.

In a checkout they lie beside the package. An installed wheel carries them inside it, under
``fxrace/_bundled``, so that no package called ``harness`` lands in anyone's site-packages.
"""

from __future__ import annotations

from pathlib import Path

import fxrace
from fxrace.errors import LaunchFailed


def root() -> Path:
    """The folder to put on a trial's ``sys.path``; it holds ``harness`` and ``repros``."""
    package = Path(fxrace.__file__).absolute().parent
    for folder in (package / "_bundled", package.parent):
        if (folder / "harness").is_dir():
            return folder
    raise LaunchFailed(
        f"no harness beside or inside {package}", remedy="reinstall fxrace, or use a checkout"
    )
