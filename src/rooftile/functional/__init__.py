"""The public functions, one module a family: check arguments, build the problem, run a strategy.

Arrays have native byte order and are row-major, images NCHW; a function's text says which dtypes it
takes, float32 where it says nothing.  They are NumPy's, PyTorch's, CuPy's or JAX's, or any in a
GPU's memory with ``__cuda_array_interface__``; all of one call are of one library and in one place.
A view that is not contiguous or not aligned is copied first; other dtypes are refused.

`conv2d`, `linear`, `matmul`, `pool2d`, `softmax`, `Conv2d` and `Linear` also take float16 and
bfloat16: an x of 16 bits means that precision, sums are in float32, and the result has x's dtype.
Parameters may be float32 or of the same 16 bits.  On a GPU kernels read them, or convert them on
the stream; on the CPU they are converted to float32.  Images of PyTorch may have their channels
last.

`matmul`, `matvec`, `linear`, `conv1d`, `conv2d`, `conv3d` and `separable` take float64 too, on the
CPU: all arrays of the call are float64 then, and so is the result.

Results are new arrays of the kind that went in, or ``out`` where it is given.

Functions whose sums may be rounded in several ways take ``precision`` (see
`rooftile.ops.precision`).  Every function takes ``strategy`` (a rung's name; None picks the
fastest), ``device`` (``cpu``, ``cuda[:N]`` or ``opencl[:N]``, which arrays in the CPU's memory are
copied to and from; None follows the array: the CPU, or the CUDA GPU that holds it; a `torch.device`
of these is taken, too) and ``out`` (a
contiguous array of the result's shape and dtype and of x's kind that shares no memory with the
arguments, unless the function says that it may be x), and raises `InputError` naming the argument
that is wrong, `UnsupportedProblem` where the named strategy cannot do it or the device's kind has
none, `DeviceMissing`, `CompileFailure` on GPUs, and `OutOfMemory`.

Numbers are Python's or NumPy's, such as ``np.float32(2)``, ``np.int64(3)`` and ``np.array(4)``.

`Conv2d` and `Linear` hold their parameters, for many calls.

On arrays in a GPU's memory a call only starts the work, on the stream that is current in the
caller's library (JAX has none: there the call waits).
"""

import importlib
from types import FunctionType
from typing import TYPE_CHECKING, Any

from rooftile.runtime.plain import plain

if TYPE_CHECKING:
    from rooftile.functional.counting import histogram, scatter
    from rooftile.functional.dense import conv2d, linear, matmul, matvec, pool2d
    from rooftile.functional.distinct import unique
    from rooftile.functional.elementwise import add, axpy, scale
    from rooftile.functional.filters import conv1d, separable
    from rooftile.functional.gradients import (
        activation_gradient,
        conv2d_input_gradient,
        conv2d_weights_gradient,
        linear_gradient,
        pool2d_gradient,
        pool2d_winners,
    )
    from rooftile.functional.images import box_blur, equalize, grayscale
    from rooftile.functional.layout import permute_columns, rotate, transpose
    from rooftile.functional.matrices import Sparse, sparse
    from rooftile.functional.patterns import argreduce, reduce, segmented_reduce
    from rooftile.functional.prepared import Conv2d, Linear
    from rooftile.functional.scans import scan, segmented_scan
    from rooftile.functional.scores import (
        loss_gradient,
        softmax,
        softmax_cross_entropy,
        softmax_gradient,
    )
    from rooftile.functional.selecting import compact
    from rooftile.functional.solvers import cg
    from rooftile.functional.sorting import argsort, partition, sort, sort_pairs
    from rooftile.functional.sparse_formats import from_packets, identify, to_packets
    from rooftile.functional.sparse_products import spmm, spmv
    from rooftile.functional.volumes import conv3d, stencil

__all__ = [
    "Conv2d",
    "Linear",
    "Sparse",
    "activation_gradient",
    "add",
    "argreduce",
    "argsort",
    "axpy",
    "box_blur",
    "cg",
    "compact",
    "conv1d",
    "conv2d",
    "conv2d_input_gradient",
    "conv2d_weights_gradient",
    "conv3d",
    "equalize",
    "from_packets",
    "grayscale",
    "histogram",
    "identify",
    "linear",
    "linear_gradient",
    "loss_gradient",
    "matmul",
    "matvec",
    "partition",
    "permute_columns",
    "pool2d",
    "pool2d_gradient",
    "pool2d_winners",
    "reduce",
    "rotate",
    "scale",
    "scan",
    "scatter",
    "segmented_reduce",
    "segmented_scan",
    "separable",
    "softmax",
    "softmax_cross_entropy",
    "softmax_gradient",
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

_FAMILIES = {
    "counting": ("histogram", "scatter"),
    "dense": ("conv2d", "linear", "matmul", "matvec", "pool2d"),
    "elementwise": ("add", "axpy", "scale"),
    "filters": ("conv1d", "separable"),
    "gradients": (
        "activation_gradient",
        "conv2d_input_gradient",
        "conv2d_weights_gradient",
        "linear_gradient",
        "pool2d_gradient",
        "pool2d_winners",
    ),
    "images": ("box_blur", "equalize", "grayscale"),
    "layout": ("permute_columns", "rotate", "transpose"),
    "matrices": ("Sparse", "sparse"),
    "sparse_products": ("spmm", "spmv"),
    "patterns": ("argreduce", "reduce", "segmented_reduce"),
    "prepared": ("Conv2d", "Linear"),
    "scans": ("scan", "segmented_scan"),
    "scores": ("loss_gradient", "softmax", "softmax_cross_entropy", "softmax_gradient"),
    "selecting": ("compact",),
    "sorting": ("argsort", "partition", "sort", "sort_pairs"),
    "distinct": ("unique",),
    "solvers": ("cg",),
    "sparse_formats": ("from_packets", "identify", "to_packets"),
    "volumes": ("conv3d", "stencil"),
}
"""Which functions lie in which module: a call imports its own family alone (PEP 562)."""


def __getattr__(name: str) -> Any:
    for family, names in _FAMILIES.items():
        if name in names:
            value = getattr(importlib.import_module(f"{__name__}.{family}"), name)
            if isinstance(value, FunctionType):
                value = plain(value)
                # Where it is found, by those who send it to another process.
                value.__module__ = __name__
            globals()[name] = value
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
