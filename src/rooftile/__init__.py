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
        Sparse,
        add,
        argreduce,
        argsort,
        axpy,
        box_blur,
        cg,
        compact,
        conv1d,
        conv2d,
        conv3d,
        equalize,
        from_packets,
        grayscale,
        histogram,
        identify,
        linear,
        matmul,
        matvec,
        partition,
        permute_columns,
        pool2d,
        reduce,
        rotate,
        scale,
        scan,
        scatter,
        segmented_reduce,
        segmented_scan,
        separable,
        softmax,
        sort,
        sort_pairs,
        sparse,
        spmm,
        spmv,
        stencil,
        to_packets,
        transpose,
        unique,
    )
    from rooftile.nn import load
    from rooftile.ops.operator import Operator

__all__ = [
    "CompileFailure",
    "Conv2d",
    "DeviceMissing",
    "InputError",
    "Linear",
    "Operator",
    "OutOfMemory",
    "RooftileError",
    "Sparse",
    "UnsupportedProblem",
    "VerificationFailure",
    "__version__",
    "add",
    "argreduce",
    "argsort",
    "axpy",
    "box_blur",
    "cg",
    "compact",
    "conv1d",
    "conv2d",
    "conv3d",
    "equalize",
    "from_packets",
    "grayscale",
    "histogram",
    "identify",
    "linear",
    "load",
    "matmul",
    "matvec",
    "partition",
    "permute_columns",
    "pool2d",
    "reduce",
    "rotate",
    "scale",
    "scan",
    "scatter",
    "segmented_reduce",
    "segmented_scan",
    "separable",
    "softmax",
    "sort",
    "sort_pairs",
    "sparse",
    "spmm",
    "spmv",
    "stencil",
    "to_packets",
    "transpose",
    "unique",
]

_LAZY = {
    "unique": "rooftile.functional",
    "sort_pairs": "rooftile.functional",
    "sort": "rooftile.functional",
    "partition": "rooftile.functional",
    "argsort": "rooftile.functional",
    "Conv2d": "rooftile.functional",
    "Linear": "rooftile.functional",
    "Operator": "rooftile.ops.operator",
    "Sparse": "rooftile.functional",
    "add": "rooftile.functional",
    "argreduce": "rooftile.functional",
    "axpy": "rooftile.functional",
    "box_blur": "rooftile.functional",
    "compact": "rooftile.functional",
    "cg": "rooftile.functional",
    "from_packets": "rooftile.functional",
    "to_packets": "rooftile.functional",
    "conv1d": "rooftile.functional",
    "conv2d": "rooftile.functional",
    "equalize": "rooftile.functional",
    "grayscale": "rooftile.functional",
    "histogram": "rooftile.functional",
    "identify": "rooftile.functional",
    "conv3d": "rooftile.functional",
    "linear": "rooftile.functional",
    "load": "rooftile.nn",
    "matmul": "rooftile.functional",
    "permute_columns": "rooftile.functional",
    "matvec": "rooftile.functional",
    "pool2d": "rooftile.functional",
    "reduce": "rooftile.functional",
    "rotate": "rooftile.functional",
    "scale": "rooftile.functional",
    "segmented_reduce": "rooftile.functional",
    "scan": "rooftile.functional",
    "scatter": "rooftile.functional",
    "segmented_scan": "rooftile.functional",
    "separable": "rooftile.functional",
    "softmax": "rooftile.functional",
    "sparse": "rooftile.functional",
    "spmm": "rooftile.functional",
    "spmv": "rooftile.functional",
    "transpose": "rooftile.functional",
    "stencil": "rooftile.functional",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
