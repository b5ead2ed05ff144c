"""``module:Class.function`` of a running frame, the same on every supported Python.

Before 3.11 code objects do not know their qualified name; it is looked up through the first
argument's class, then in the module. Names with ``<`` in their last part (lambdas, comprehensions,
which 3.12 inlines) are no stable names.
"""

from __future__ import annotations

import sys
from types import CodeType, FrameType
from typing import Any

_FINALISERS, _WEAK_REFERENCES = frozenset({"__del__", "_remove_id"}), "torch/utils/weak.py"
_HAS_QUALNAME = sys.version_info >= (3, 11)


def named(frame: FrameType) -> str:
    """The frame's function, by module and qualified name."""
    module = frame.f_globals.get("__name__", "?")
    code = frame.f_code
    return f"{module}:{code.co_qualname if _HAS_QUALNAME else _looked_up(frame)}"


def is_stable(code: CodeType) -> bool:
    """False for what has no name of its own, or one that depends on the Python version.

    And for what runs when an object dies: that may be a little earlier or later in each run.
    """
    file = code.co_filename.replace("\\", "/")
    return "<" not in code.co_name and not (
        code.co_name in _FINALISERS or file.endswith(_WEAK_REFERENCES)
    )


def _looked_up(frame: FrameType) -> str:
    code = frame.f_code
    first = code.co_varnames[:1]
    if code.co_argcount and first and first[0] in ("self", "cls", "mcs"):
        value = frame.f_locals.get(first[0])
        kind = value if isinstance(value, type) else type(value)
        for base in kind.__mro__:
            member = vars(base).get(code.co_name)
            if _code_of(member) is code:
                return f"{base.__qualname__}.{code.co_name}"
    return code.co_name


def _code_of(member: Any) -> CodeType | None:
    member = getattr(member, "__func__", member)
    member = getattr(member, "fget", member)
    member = getattr(member, "__wrapped__", member)
    return getattr(member, "__code__", None)
