"""Which problems of the patterns are measured, where, and what they are to reach.

To add an operation: its public call goes to `CALLS`, its page to `PAGES`, its problems to `GPU` and
`CPU`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import rooftile
from rooftile.ops import Precision, Problem, named
from rooftile.ops.sparse_rows import ARRAYS
from rooftile.ops.spmv import Spmv

Dtype = Literal["float32", "float16", "bfloat16"]
Call = Callable[..., Any]

CALLS: Mapping[str, Callable[..., Call]] = {
    "matmul": lambda p, a, b: partial(
        rooftile.matmul, a, b, transpose_a=p.transpose_a, transpose_b=p.transpose_b
    ),
    "matvec": lambda p, a, x: partial(rooftile.matvec, a, x, transpose=p.transpose),
    "conv1d": lambda p, x, mask: partial(rooftile.conv1d, x, mask, boundary=p.boundary),
    "separable": lambda p, x, *masks: partial(rooftile.separable, x, *masks, boundary=p.boundary),
    "conv3d": lambda p, x, mask: partial(rooftile.conv3d, x, mask, boundary=p.boundary),
    "stencil": lambda p, x, coefficients: partial(
        rooftile.stencil, x, coefficients, steps=p.steps, boundary=p.boundary
    ),
    "transpose": lambda p, x: partial(rooftile.transpose, x, p.axes),
    "permute_columns": lambda p, x, index: partial(rooftile.permute_columns, x, index),
    "rotate": lambda p, x: partial(rooftile.rotate, x, p.shift),
    "elementwise": lambda p, *arrays: _elementwise(p.function, arrays),
    "grayscale": lambda p, image: partial(rooftile.grayscale, image),
    "box_blur": lambda p, image: partial(rooftile.box_blur, image, p.radius),
    "reduce": lambda p, x: partial(rooftile.reduce, x, p.operator, p.axis),
    "argreduce": lambda p, x: partial(rooftile.argreduce, x, p.operator, p.axis),
    "segmented_reduce": lambda p, x, offsets: partial(
        rooftile.segmented_reduce, x, offsets, p.operator
    ),
    "scan": lambda p, x: partial(
        rooftile.scan, x, p.operator, p.axis, exclusive=p.exclusive, reverse=p.reverse
    ),
    "segmented_scan": lambda p, x, offsets: partial(
        rooftile.segmented_scan, x, offsets, p.operator, exclusive=p.exclusive
    ),
    "histogram": lambda p, x: partial(rooftile.histogram, x, p.bins, (p.low, p.high)),
    "compact": lambda p, x, mask: partial(rooftile.compact, x, mask, ordered=p.ordered),
    "equalize": lambda p, image: partial(rooftile.equalize, image),
    "scatter": lambda p, x, index, values: partial(rooftile.scatter, x, index, values, p.function),
    "spmv": lambda p, *arrays: partial(rooftile.spmv, _sparse(p, arrays), arrays[-1]),
    "spmm": lambda p, *arrays: partial(rooftile.spmm, _sparse(p.vector, arrays), arrays[-1]),
}
"""The public call of a problem on its arrays; it takes ``strategy``, ``out`` and, where the
operation has them, ``precision``."""

BOUNDS: Mapping[str, Callable[[Any], int]] = {"permute_columns": lambda p: p.columns}
"""What integers that are indices are below, by operation."""

PAGES = {
    "matmul": "matmul",
    "matvec": "matmul",
    "conv1d": "conv1d",
    "separable": "conv1d",
    "conv3d": "conv3d",
    "stencil": "conv3d",
    "transpose": "transpose",
    "permute_columns": "transpose",
    "rotate": "transpose",
    "elementwise": "elementwise",
    "grayscale": "images",
    "box_blur": "images",
    "reduce": "reduce",
    "argreduce": "reduce",
    "segmented_reduce": "reduce",
    "scan": "scan",
    "segmented_scan": "scan",
    "histogram": "histogram",
    "compact": "compact",
    "equalize": "equalize",
    "scatter": "atomics",
    "spmv": "sparse",
    "spmm": "sparse",
}
"""The page of ``docs/`` that has an operation's numbers."""


@dataclass(frozen=True)
class Goal:
    """What a problem is to reach: ``value`` is a limit of ``what``."""

    what: Literal["ms", "copy", "read", "peer", "torch eager", "numpy"]
    """``ms``: milliseconds, at most; the others at least: ``copy``, ``read``: the time of a copy or
    a read of as many bytes over ours; ``peer``, ``numpy`` and so on: the time of the fastest peer,
    or of that one, over ours."""
    value: float


@dataclass(frozen=True)
class Case:
    """A named problem on arrays of a dtype at a precision."""

    operation: str
    name: str
    goals: tuple[Goal, ...] = ()
    precision: Precision = "ieee"
    dtype: Dtype = "float32"
    """Of the arrays that are float32 in the problem."""
    ladder: bool = False
    """Whether every rung is timed, or only what a call picks."""
    compiled: bool = False
    """Whether ``torch.compile`` is a peer: where PyTorch's own call makes several passes."""

    @property
    def problem(self) -> Problem:
        return named(self.operation, self.name)

    @property
    def key(self) -> str:
        more = [] if self.precision == "ieee" else [self.precision]
        return ", ".join([f"{self.operation} {self.name}", *more])

    @property
    def options(self) -> dict[str, Any]:
        """What the public call is given beside arrays and ``strategy``."""
        return {} if self.precision == "ieee" else {"precision": self.precision}


def _elementwise(function: str, arrays: tuple[Any, ...]) -> Call:
    if function == "add":
        return partial(rooftile.add, *arrays)
    *others, alpha = arrays
    return partial(getattr(rooftile, function), float(alpha[0]), *others)


def _sparse(problem: Spmv, arrays: tuple[Any, ...]) -> rooftile.Sparse:
    """The matrix of a problem's arrays, whose last one is no part of it."""
    held = dict(zip(ARRAYS[problem.form], arrays, strict=False))
    return rooftile.Sparse((problem.rows, problem.columns), problem.form, held, problem.entries)


def _products() -> tuple[Case, ...]:
    """Matrix products at every precision; 16-bit ones on arrays of 16 bits, as their peers."""
    ways: tuple[tuple[Precision, Dtype, float], ...] = (
        ("ieee", "float32", 2.3),
        ("tf32", "float32", 1.0),
        ("fp16", "float16", 1.0),
        ("bf16", "bfloat16", 1.0),
    )
    sizes = ("matmul-4096", "matmul-8192", "matmul-1000", "matmul-64x4096", "matmul-1x4096")
    return tuple(
        Case("matmul", size, (Goal("peer", least),), precision, dtype)
        for size in sizes
        for precision, dtype, least in ways
    )


def _at_most(ms: float) -> tuple[Goal, ...]:
    return (Goal("ms", ms),)


_COPY = (Goal("copy", 0.9),)

GPU: tuple[Case, ...] = (
    *_products(),
    Case("matmul", "matmul-2048", ladder=True),
    Case("matvec", "matvec-16384", ladder=True),
    Case("matvec", "matvec-16384-transposed"),
    Case("transpose", "matrix-16384", (Goal("copy", 0.95), Goal("ms", 0.508)), ladder=True),
    Case("transpose", "matrix-16384-fp16", (Goal("copy", 0.95), Goal("ms", 0.259))),
    Case("permute_columns", "square-8192", ladder=True),
    Case("rotate", "lists-2^20-of-256", ladder=True),
    Case("elementwise", "add-2^28", (Goal("peer", 1.0),), ladder=True),
    Case("elementwise", "axpy-2^28", compiled=True),
    Case("conv1d", "signal-1e8-mask3", _at_most(0.20)),
    Case("conv1d", "signal-1e8-mask5", _at_most(0.20)),
    Case("conv1d", "signal-1e8-mask31", _at_most(0.25), ladder=True),
    Case("separable", "image-8192-radius2", _COPY, ladder=True, compiled=True),
    Case("conv3d", "cube-512-mask-3", _at_most(0.29), ladder=True),
    Case("conv3d", "cube-512-mask-5", _at_most(0.85)),
    Case("stencil", "star-7", _at_most(0.28), ladder=True),
    Case("stencil", "star-25", _at_most(0.30)),
    Case("stencil", "star-7-steps-8", _at_most(1.0)),
    Case("grayscale", "picture-8192", _COPY, ladder=True, compiled=True),
    Case("box_blur", "picture-8192-r5", _COPY, ladder=True, compiled=True),
)

_LIKE_READ = (Goal("read", 0.9),)
_LIKE_COPY_AND_NUMPY = (Goal("copy", 0.9), Goal("numpy", 6.0))

CPU: tuple[Case, ...] = (
    Case("matmul", "matmul-512", (Goal("peer", 1.0),), ladder=True),
    Case("matmul", "matmul-2048", (Goal("peer", 1.0),)),
    Case("matmul", "matmul-1000x6272x512", (Goal("peer", 1.0),)),
    Case("matvec", "matvec-4096", ladder=True),
    Case("conv1d", "signal-1e7-mask3", _LIKE_COPY_AND_NUMPY, ladder=True),
    Case("conv1d", "signal-1e7-mask5", _LIKE_COPY_AND_NUMPY),
    Case("separable", "image-1024-radius2", ladder=True),
    Case("conv3d", "cube-256-mask-3", (Goal("peer", 3.0),), ladder=True),
    Case("stencil", "star-7-256", (Goal("peer", 3.0),), ladder=True),
    Case("transpose", "matrix-8192", (Goal("copy", 0.9),), ladder=True),
    Case("permute_columns", "square-8192", ladder=True),
    Case("rotate", "lists-2^20-of-256", ladder=True),
    Case("elementwise", "add-10^8", (Goal("copy", 0.9),), ladder=True),
    Case("grayscale", "picture-8192", ladder=True),
    Case("box_blur", "picture-1024-r5", ladder=True),
    Case("reduce", "sum-10^8", _LIKE_READ, ladder=True),
    Case("reduce", "max-10^8", _LIKE_READ),
    Case("argreduce", "max-10^8", ladder=True),
    Case("segmented_reduce", "mean-1000", ladder=True),
    Case("scan", "sum-10^8", (Goal("copy", 0.9), Goal("torch eager", 8.0)), ladder=True),
    Case("segmented_scan", "sum-2^20-in-1000", ladder=True),
    Case("histogram", "bytes-10^8", (Goal("torch eager", 1.8),), ladder=True),
    Case("histogram", "floats-10^7", (Goal("numpy", 3.0),), ladder=True),
    Case("compact", "half-10^8", (Goal("numpy", 3.0),), ladder=True),
    Case("equalize", "picture-1024", ladder=True),
    Case("scatter", "add-10^6-in-1000", ladder=True),
    Case("spmv", "entries-10^7", (Goal("peer", 1.0),), ladder=True),
    Case("spmv", "entries-10^7-long", (Goal("peer", 1.0),)),
    Case("spmv", "banded-csr", (Goal("peer", 1.0),)),
    Case("spmm", "random-small-32", (Goal("peer", 1.0),), ladder=True),
)
