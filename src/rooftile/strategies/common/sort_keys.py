"""The macros of keys of `sort`, for texts that include ``sort/gpu/keys.h``."""

from __future__ import annotations

from rooftile.ops.patterns.sort import GIVES, Sort

_INFINITY_TOP = {"float32": 0x7F80, "float16": 0x7C00, "bfloat16": 0x7F80, "float64": 0x7FF0}
"""The first 16 bits of infinity."""


def key_macros(problem: Sort) -> dict[str, int | str]:
    """The macros of `keys.h`."""
    return {
        "BYTES": problem.key_bytes,
        "REAL": int(problem.dtype in _INFINITY_TOP),
        "SIGNED": int(problem.dtype.startswith("int")),
        "INFINITY_TOP": _INFINITY_TOP.get(problem.dtype, 0),
        "LOGICAL": int(problem.dtype == "bool"),
        "DESCENDING": int(problem.descending),
        "BESIDE": int(problem.inner == 1),
        "GIVES": GIVES.index(problem.gives),
    }
