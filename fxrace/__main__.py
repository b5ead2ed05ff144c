"""``python -m fxrace`` is the command ``fxrace``."""

from __future__ import annotations

from fxrace.cli import main

if __name__ == "__main__":
    main(prog_name="fxrace")
