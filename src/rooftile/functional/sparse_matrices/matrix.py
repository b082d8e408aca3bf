"""Sparse matrices: made from what other libraries hold, and multiplied by operators."""

from __future__ import annotations

from typing import Any, Literal

from rooftile.analysis.spmv import fastest
from rooftile.devices.select import DeviceName
from rooftile.errors import check_word
from rooftile.functional.sparse_matrices.given import rows_from
from rooftile.functional.sparse_matrices.held import Held
from rooftile.functional.sparse_matrices.products import spmm, spmv
from rooftile.functional.sparse_matrices.structure import machine_of
from rooftile.ops.sparse.layouts import laid_out
from rooftile.ops.sparse.rows import FORMS
from rooftile.runtime.calls.plain import plain


class Sparse(Held):
    """A matrix ``[rows][columns]`` in a format, see `sparse`; nothing changes it.

    It adds operators for products to `rooftile.functional.sparse_matrices.held.Held`.
    """

    def __matmul__(self, other: Any) -> Any:
        """`spmv` where the other has one axis, `spmm` where it has two."""
        if len(getattr(other, "shape", ())) > 1:
            return spmm(self, other)
        return spmv(self, other)

    __array_ufunc__ = None
    """NumPy's arrays leave products with a matrix on the right to `__rmatmul__`."""

    def __rmatmul__(self, other: Any) -> Any:
        """The transpose's product with the other's transpose, turned back."""
        if len(getattr(other, "shape", ())) > 1:
            return spmm(self, other.T, transposed=True).T
        return spmv(self, other, transposed=True)


@plain
def sparse(
    matrix: Any,
    format: str | None = None,
    *,
    shape: tuple[int, int] | None = None,
    dtype: str | None = None,
    index: Literal["int32", "int64"] | None = None,
    device: DeviceName | None = None,
) -> Sparse:
    """A sparse matrix in a format.

    ``matrix`` is a matrix of SciPy or CuPy, a sparse or dense tensor of PyTorch, a dense array, a
    `Sparse`, ``(values, (rows, columns))`` or ``(values, columns, offsets)``, which is CSR, or a
    dictionary ``{(row, column): value}``; the last three need ``shape``.  A path is that of a
    Matrix Market file (``.mtx``, ``.mtx.gz``), which SciPy reads.  Entries may come in any order,
    entries of one place are added (in float64), and zeros are no entries.  Values are float32,
    float16 or float64, or become ``dtype``; indices are int32 where that reaches, or ``index``.

    ``format`` is ``coo``, ``csr`` (the default), ``csc``, ``ell``, ``hybrid`` (ELL and COO),
    ``jds``, ``jds_t`` (jagged diagonals, by rows and transposed), ``dia`` or ``bsr``; ``auto``
    takes the one whose product on ``device``, by default the CPU, is predicted to be the fastest
    (`Sparse.explain`).  A ``device`` that is a GPU holds the matrix in its memory, see `Sparse.to`.

    Raises `InputError`, which names the entry and the rule that it breaks.

    Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., chapter 14.
    """
    if isinstance(matrix, Sparse):
        held = matrix
    else:
        rows = rows_from(matrix, shape, dtype, index)
        held = Sparse._made(rows.shape, "csr", laid_out(rows, "csr"), rows.entries)
    if format is None and device is None:
        return held
    if format is not None and not isinstance(format, str):
        check_word("format", format, (*FORMS, "auto"))
    if format == "auto":
        format = fastest(held.structure, machine_of(device or "cpu"))
    return held.to(format or held.format, device=device)
