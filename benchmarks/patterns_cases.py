"""Which problems of the patterns are measured, where, and what they are to reach.

To add an operation: its public call and its page go to `patterns_calls`, its problems to `GPU` and
`CPU` here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from rooftile.ops import Precision, Problem, named
from rooftile.ops.sparse.rows import Form

Dtype = Literal["float32", "float16", "bfloat16"]


@dataclass(frozen=True)
class Goal:
    """What a problem is to reach: ``value`` is a limit of ``what``."""

    what: Literal["ms", "copy", "read", "floor", "peer", "torch eager", "numpy", "scipy"]
    """``ms``: milliseconds, at most; the others at least: ``copy``, ``read``: the time of a copy or
    a read of as many bytes over ours; ``floor``: the floor over ours; ``peer``, ``numpy`` and so
    on: the time of the fastest peer, or of that one, over ours."""
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
    values: Literal["random", "equal", "skewed"] = "random"
    """What the elements of x are: ``skewed``, half of them lie in 1 % of the bins."""
    forms: tuple[Form, ...] = ()
    """Formats that a sparse matrix, which the problem has in CSR, is held in besides."""

    @property
    def problem(self) -> Problem:
        return named(self.operation, self.name)

    @property
    def key(self) -> str:
        more: list[str] = [] if self.precision == "ieee" else [self.precision]
        if self.values != "random":
            more.append(self.values)
        return ", ".join([f"{self.operation} {self.name}", *more])

    @property
    def options(self) -> dict[str, Any]:
        """What the public call is given beside arrays and ``strategy``."""
        return {} if self.precision == "ieee" else {"precision": self.precision}


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
_PEER = (Goal("peer", 1.0),)
_SPARSE = (Goal("peer", 1.0), Goal("floor", 0.85))
_READ = (Goal("ms", 0.245), Goal("read", 0.95))
_SCAN = (Goal("ms", 0.54), Goal("copy", 0.95), *_PEER)

_AGREEING: tuple[Case, ...] = (
    Case("reduce", "sum-2^28", _READ, ladder=True),
    Case("scan", "sum-2^28", _SCAN, ladder=True),
    Case("sort", "floats-2^26", _PEER, ladder=True),
    Case("histogram", "bytes-2^28", _at_most(0.075), ladder=True),
    Case("histogram", "bytes-2^28", _at_most(0.075), values="equal"),
    Case("histogram", "bytes-2^28", _at_most(0.09), values="skewed"),
    Case("histogram", "floats-2^28", _at_most(0.26), ladder=True),
    Case("compact", "half-2^28", _at_most(0.45), ladder=True),
    Case("reduce", "max-2^28", _READ),
    Case("argreduce", "max-2^28", _READ, ladder=True),
    Case("reduce", "rows-16384", _READ),
    Case("reduce", "columns-16384", _READ),
    Case("argreduce", "rows-16384", _READ),
    Case("argreduce", "columns-16384", _READ),
    Case("scan", "rows-16384", _SCAN),
    Case("scan", "columns-16384", _SCAN),
    Case("sort", "pairs-2^26", _PEER),
    Case("sort", "places-2^26", _PEER),
    Case("sort", "ints-2^26", _PEER),
    Case("segmented_reduce", "mean-8-2^28", (Goal("read", 0.8), *_PEER), ladder=True),
    Case("segmented_reduce", "mean-1000-2^28", (Goal("read", 0.8), *_PEER)),
    Case("segmented_reduce", "mean-50000-2^28", (Goal("read", 0.8), *_PEER)),
    Case("segmented_scan", "sum-2^28-in-10^6", (Goal("copy", 0.8),), ladder=True),
    Case("segmented_scan", "sum-2^28-in-10000", (Goal("copy", 0.8),)),
    Case("unique", "runs-2^26", _PEER),
    Case("equalize", "picture-8192", ladder=True),
    Case("scatter", "add-10^6-in-1000", ladder=True),
)
"""Patterns whose threads have to agree."""
_SPARSE_CASES: tuple[Case, ...] = (
    Case("spmm", "random-32", _PEER, ladder=True),
    Case("spmm", "banded-32", _PEER),
    Case("spmv", "random-csr", _PEER, forms=("coo", "ell", "jds_t")),
    Case("spmv", "power-csr", _PEER, forms=("coo", "hybrid", "jds_t")),
    Case("spmv", "dense-row-csr", _PEER, forms=("coo", "hybrid")),
    Case("spmv", "blocks-csr", _PEER, forms=("coo", "ell", "bsr")),
    Case("spmv", "banded-csr", _SPARSE, forms=("coo", "ell", "dia")),
    Case("spmv", "grid-csr", _SPARSE, forms=("coo", "dia")),
)
"""Every format's strategies take part in a row of `spmv`."""
_DENSE: tuple[Case, ...] = (
    Case("transpose", "matrix-16384", (Goal("copy", 0.95), Goal("ms", 0.508)), ladder=True),
    Case("transpose", "matrix-16384-fp16", (Goal("copy", 0.95), Goal("ms", 0.259))),
    Case("elementwise", "add-2^28", _PEER, ladder=True),
    Case("conv1d", "signal-1e8-mask3", _at_most(0.20)),
    Case("conv1d", "signal-1e8-mask5", _at_most(0.20)),
    Case("conv1d", "signal-1e8-mask31", _at_most(0.25), ladder=True),
    Case("conv3d", "cube-512-mask-3", _at_most(0.29), ladder=True),
    Case("conv3d", "cube-512-mask-5", _at_most(0.85)),
    Case("stencil", "star-7", _at_most(0.28), ladder=True),
    Case("stencil", "star-25", _at_most(0.30)),
    Case("stencil", "star-7-steps-8", _at_most(1.0)),
    Case("separable", "image-8192-radius2", _COPY, ladder=True, compiled=True),
    Case("grayscale", "picture-8192", _COPY, ladder=True, compiled=True),
    Case("box_blur", "picture-8192-r5", _COPY, ladder=True, compiled=True),
    Case("matvec", "matvec-16384", ladder=True),
    Case("matvec", "matvec-16384-transposed"),
    Case("permute_columns", "square-8192", ladder=True),
    Case("rotate", "lists-2^20-of-256", ladder=True),
    Case("elementwise", "axpy-2^28", compiled=True),
    *_products(),
    Case("matmul", "matmul-2048", ladder=True),
)

GPU: tuple[Case, ...] = (*_AGREEING, *_SPARSE_CASES, *_DENSE)
"""In the order of their worth: a run that is cut off has the first ones."""

_LIKE_READ = (Goal("read", 0.9),)
_PRODUCT = (Goal("torch eager", 1.0), Goal("scipy", 1.6))
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
    Case("sort", "floats-10^8", (Goal("numpy", 3.0),)),
    Case("sort", "floats-10^7", (Goal("numpy", 3.0),), ladder=True),
    Case("sort", "places-10^7", _PEER),
    Case("unique", "runs-10^8", _PEER),
    Case("equalize", "picture-1024", ladder=True),
    Case("scatter", "add-10^6-in-1000", ladder=True),
    Case("spmv", "entries-10^7", _PRODUCT, ladder=True),
    Case("spmv", "entries-10^7-long", _PRODUCT),
    Case("spmv", "banded-csr", (Goal("peer", 1.0),)),
    Case("spmm", "random-small-32", (Goal("peer", 1.0),), ladder=True),
)
