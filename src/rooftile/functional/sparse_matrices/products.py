"""Products of sparse matrices with vectors and dense matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from rooftile.devices.cuda import CudaArray
from rooftile.devices.select import DeviceName
from rooftile.errors import InputError, check_flag
from rooftile.functional._call import remembered, run
from rooftile.functional.elementwise import scale
from rooftile.functional.sparse_matrices.held import Held
from rooftile.functional.sparse_matrices.operands import check_length
from rooftile.ops.problem import Dtype
from rooftile.ops.sparse.spmm import Spmm
from rooftile.runtime.arguments import Arguments
from rooftile.runtime.calls.plain import plain
from rooftile.runtime.calls.scalars import beside, number, placed


@plain
def spmv(
    A: Held,
    x: Any,
    alpha: float = 1.0,
    y: Any = None,
    beta: float = 0.0,
    *,
    transposed: bool = False,
    strategy: str | None = None,
    device: DeviceName | None = None,
    out: Any = None,
) -> Any:
    """``alpha A x + beta y``; with ``transposed`` of A's transpose.

    A is a `Sparse` ``[rows][columns]``, x has one axis, [columns], and y and the result have
    [rows].  x and y are float32, with values of float64 float64; values of float16 are summed in
    float32. Where beta is 0, y is not read.  An entry of a matrix is never multiplied where it is
    0: padding does not make NaN of an infinite x.  Every run gives the same bits, but on a GPU for
    ``coo`` and ``csc``, whose strategies ``coo_atomic`` and ``csc`` add by atomics.

    Source: Bell and Garland, "Implementing Sparse Matrix-Vector Multiplication on
    Throughput-Oriented Processors", SC 2009.
    """
    matrix = _matrix(A, transposed)
    factors = number("alpha", alpha), number("beta", beta)
    if factors[1] != 0 and y is None:
        raise InputError("y", "None", f"an array: beta is {beta}")
    given, summed = Arguments(x), _summed(matrix)
    vector = given.take("x", x, "columns", dtypes=(summed,), empty=True)
    check_length("x", vector, matrix.shape[1])
    start = None
    if factors[1]:
        start = given.take("y", y, "rows", dtypes=(summed,), empty=True)
        check_length("y", start, matrix.shape[0])
    if 0 in matrix.shape:
        if start is not None:
            return scale(factors[1], y, device=device, out=out)
        return given.nothing(vector, matrix.shape[:1], summed, device, out)
    updated = factors != (1.0, 0.0)
    problem = matrix.problem(updated=updated, resident=isinstance(vector, CudaArray))
    inputs = [*matrix.on(given, vector, problem.tiled), vector]
    if updated:
        inputs += [beside(given, vector, factor, summed) for factor in factors]
        if start is None:
            start = placed(given, vector, np.zeros(matrix.shape[0], summed))
        inputs.append(start)
    return run(given, problem, inputs, {}, "ieee", strategy, device, out)


@plain
def spmm(
    A: Held,
    b: Any,
    *,
    transposed: bool = False,
    strategy: str | None = None,
    device: DeviceName | None = None,
    out: Any = None,
) -> Any:
    """``A b``, a sparse matrix times a dense one; with ``transposed`` A's transpose times it.

    A is a `Sparse` ``[rows][columns]``, b is ``[columns][width]`` of float32, with values of
    float64 float64, and the result ``[rows][width]``.  It is computed in CSR; other formats are
    converted first.
    """
    matrix = _matrix(A, transposed)._as_csr()
    given, summed = Arguments(b, "b"), _summed(matrix)
    dense = given.take("b", b, "columns, width", dtypes=(summed,), empty=True)
    check_length("b", dense, matrix.shape[1])
    rows, width = matrix.shape[0], int(dense.shape[1])
    if not matrix.nnz or 0 in (rows, width):
        return given.nothing(dense, (rows, width), summed, device, out)
    problem = _spmm(*matrix.shape, matrix.nnz, width, matrix._dtype, matrix._index)
    inputs = [*matrix.on(given, dense), dense]
    return run(given, problem, inputs, {}, "ieee", strategy, device, out)


def _matrix(A: Any, transposed: bool) -> Held:
    if not isinstance(A, Held):
        raise InputError("A", f"a {type(A).__name__}", "a matrix of rooftile.sparse")
    check_flag("transposed", transposed)
    return A.transpose() if transposed else A


def _summed(matrix: Held) -> Dtype:
    """The dtype of products and of what A is multiplied with."""
    return "float64" if matrix.dtype == np.float64 else "float32"


_spmm = remembered(Spmm)
