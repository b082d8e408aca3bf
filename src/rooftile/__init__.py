"""rooftile: convolutional networks and parallel patterns, up to the hardware's roof.

Importing this package compiles nothing, starts no thread and looks for no device:
the public functions are imported on first use (PEP 562).
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from rooftile._version import __version__
from rooftile.errors import (
    CompileFailure,
    DeviceMissing,
    InputError,
    OutOfMemory,
    RooftileError,
    UnsupportedProblem,
    VerificationFailure,
)

if TYPE_CHECKING:
    from rooftile.functional import (
        Conv2d,
        Linear,
        conv2d,
        linear,
        matmul,
        matvec,
        pool2d,
        reduce,
        softmax,
    )
    from rooftile.nn import load

__all__ = [
    "CompileFailure",
    "Conv2d",
    "DeviceMissing",
    "InputError",
    "Linear",
    "OutOfMemory",
    "RooftileError",
    "UnsupportedProblem",
    "VerificationFailure",
    "__version__",
    "conv2d",
    "linear",
    "load",
    "matmul",
    "matvec",
    "pool2d",
    "reduce",
    "softmax",
]

_LAZY = {
    "Conv2d": "rooftile.functional",
    "Linear": "rooftile.functional",
    "conv2d": "rooftile.functional",
    "linear": "rooftile.functional",
    "load": "rooftile.nn",
    "matmul": "rooftile.functional",
    "matvec": "rooftile.functional",
    "pool2d": "rooftile.functional",
    "reduce": "rooftile.functional",
    "softmax": "rooftile.functional",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
