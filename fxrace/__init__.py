"""fxrace: a thread-safety diagnostic and reproduction toolkit for ``torch.compile``.

Importing this package imports neither torch nor any third-party library, because the same
package is loaded inside trial processes that have torch and the standard library only.
"""

from __future__ import annotations

__version__ = "0.1.0"
