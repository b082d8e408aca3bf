"""Sparse matrices, held in a format, and their products with vectors and matrices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from rooftile.analysis.spmv import Estimate, Structure, described, estimates, fastest
from rooftile.devices.cuda import CudaArray
from rooftile.devices.select import DeviceName
from rooftile.errors import InputError
from rooftile.functional._call import remembered, run
from rooftile.functional._empty import of_nothing
from rooftile.functional.conversion import converted
from rooftile.functional.device_arrays import DeviceArrays, kept
from rooftile.functional.elementwise import scale
from rooftile.functional.sparse_input import rows_from
from rooftile.functional.sparse_operands import Operands, check_length
from rooftile.functional.sparse_structure import (
    check_chosen,
    check_padding,
    check_sizes,
    machine_of,
    structure_of,
)
from rooftile.ops.problem import AnyArray, Dtype
from rooftile.ops.sparse_layouts import laid_out
from rooftile.ops.sparse_rows import ARRAYS, FORMS, Form, Rows
from rooftile.ops.spmm import Spmm
from rooftile.ops.spmv import Spmv
from rooftile.runtime.arguments import Arguments, Taken
from rooftile.runtime.scalars import beside, number, placed
from rooftile.strategies.common.sparse_conversion import columns_of, rows_of
from rooftile.strategies.common.sparse_sorting import SORTING


class Sparse:
    """A matrix ``[rows][columns]`` in a format; nothing changes it.

    ``arrays`` are the format's, by name, NumPy's.  On a GPU a product's first call copies them to
    where x lies, and they stay there as long as the matrix.  What a GPU has converted, see `to`,
    lies there already, and is copied to the host when somebody asks for an array.
    """

    def __init__(
        self, shape: tuple[int, int], form: Form, arrays: Mapping[str, AnyArray], entries: int
    ) -> None:
        self.shape = shape
        self.format = form
        self.arrays = arrays if isinstance(arrays, DeviceArrays) else dict(arrays)
        self.nnz = entries
        self._rows: Rows | None = None
        self._structure: Structure | None = None
        self._diagonal: AnyArray | None = None
        self._transpose: Sparse | None = None
        self._in_rows: Sparse | None = None
        self._operands = Operands(shape, form, self.arrays, entries)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the values."""
        return kept(self.arrays)["values"].dtype

    @property
    def index(self) -> str:
        """The dtype of the indices."""
        return kept(self.arrays)[ARRAYS[self.format][1]].dtype.name

    @property
    def _dtype(self) -> Any:
        return self.dtype.name

    @property
    def _index(self) -> Any:
        return self.index

    @property
    def bytes(self) -> int:
        """Of all arrays."""
        return sum(array.nbytes for array in kept(self.arrays).values())

    @property
    def T(self) -> Sparse:
        """The transpose, see `transpose`."""
        return self.transpose()

    def __repr__(self) -> str:
        height, width = self.shape
        kinds = f"{self.dtype} and {self.index}"
        return f"<{height}x{width} sparse matrix, {self.nnz} entries, {self.format} of {kinds}>"

    def __matmul__(self, other: Any) -> Any:
        """`spmv` where the other has one axis, `spmm` where it has two."""
        if len(getattr(other, "shape", ())) > 1:
            return spmm(self, other)
        return spmv(self, other)

    __array_ufunc__ = None
    """NumPy's arrays leave products with a matrix behind them to `__rmatmul__`."""

    def __rmatmul__(self, other: Any) -> Any:
        """The transpose's product with the other's transpose, turned back."""
        if len(getattr(other, "shape", ())) > 1:
            return spmm(self, other.T, transposed=True).T
        return spmv(self, other, transposed=True)

    @property
    def rows(self) -> Rows:
        """What CSR holds."""
        if self._rows is None:
            self._rows = rows_of(self.format, self.shape, self.arrays)
        return self._rows

    def to(
        self,
        format: str,
        *,
        width: int | None = None,
        block: int = 4,
        device: DeviceName | None = None,
    ) -> Sparse:
        """The same matrix in another format.

        ``width`` is how many entries of a row a hybrid's ELL part takes, by default as many as a
        third of the rows have; ``block`` the rows of a block of BSR.  A ``device`` that is a GPU
        converts it in its memory, where the arrays stay for further conversions and, on CUDA, for
        products.  Raises `InputError` for an unknown format, and for one that would be nearly all
        padding, `DeviceMissing`, `OutOfMemory`.
        """
        form = _form(format)
        if form == self.format and form not in ("hybrid", "bsr") and device in (None, "cpu"):
            return self
        check_sizes(width, block)
        if device not in (None, "cpu") and self.nnz:
            given = self.format, self.shape, self.arrays
            return self._again(form, converted(*given, form, width, block, str(device)))
        if form in ("ell", "dia"):
            of = self.structure
            check_padding(form, of.rows, of.longest if form == "ell" else of.diagonals, of.entries)
        elif form in ("hybrid", "bsr"):
            check_chosen(form, self.rows, width, block)
        if self.format == "coo" and form == "csc" and self._rows is None:
            return self._again(form, columns_of(self.shape, self.arrays))
        made = laid_out(self.rows, form, width=width, block=block, sorting=SORTING)
        return self._again(form, made)

    def _again(self, form: Form, arrays: Mapping[str, AnyArray]) -> Sparse:
        """The same matrix with other arrays."""
        found = Sparse(self.shape, form, arrays, self.nnz)
        found._rows, found._structure = self._rows, self._structure
        return found

    def transpose(self) -> Sparse:
        """The transpose: of CSR in CSC and the other way round without a copy, else in the same
        format."""
        if self._transpose is None:
            self._transpose = self._turned()
        return self._transpose

    def _turned(self) -> Sparse:
        shape = self.shape[::-1]
        if self.format in ("csr", "csc"):
            to: Form = "csc" if self.format == "csr" else "csr"
            if isinstance(self.arrays, DeviceArrays):
                return Sparse(shape, to, self.arrays.renamed(ARRAYS[to]), self.nnz)
            made = dict(zip(ARRAYS[to], self.arrays.values(), strict=True))
            return Sparse(shape, to, made, self.nnz)
        turned = SORTING.turned(self.rows)
        matrix = Sparse(shape, "csr", laid_out(turned, "csr"), self.nnz)
        return matrix.to(self.format)

    def _as_csr(self) -> Sparse:
        """The same matrix in CSR, which stays."""
        if self._in_rows is None:
            self._in_rows = self.to("csr")
        return self._in_rows

    def to_scipy(self) -> Any:
        """SciPy's matrix: CSR, CSC, COO, BSR or DIA as this one's format, for others CSR.

        SciPy has no float16; it is given float32.
        """
        import scipy.sparse

        form = self.format if self.format in ("csr", "csc", "coo") else "csr"
        values, *index = self.to(form).arrays.values()
        if values.dtype == np.float16:
            values = values.astype(np.float32)
        kind = getattr(scipy.sparse, f"{form}_matrix")
        held = (values, tuple(index)) if form == "coo" else (values, *index)
        made = kind(held, shape=self.shape)
        return made.asformat(self.format) if self.format in ("bsr", "dia") else made

    def to_dense(self) -> AnyArray:
        """NumPy's array ``[rows][columns]``."""
        made = np.zeros(self.shape, self.dtype)
        made[self.rows.of_entries, self.rows.columns] = self.rows.values
        return made

    def diagonal(self) -> AnyArray:
        """The elements A[i, i], NumPy's, 0 where there is no entry."""
        if self._diagonal is None:
            made = np.zeros(min(self.shape), self.dtype)
            if self.format == "dia":
                for at in np.flatnonzero(self.arrays["diagonals"] == 0):
                    made[:] = self.arrays["values"][at, : len(made)]
            else:
                owners, columns = self.rows.of_entries, self.rows.columns
                on = owners == columns
                made[owners[on]] = self.rows.values[on]
            self._diagonal = made
        return self._diagonal

    def to_dok(self) -> dict[tuple[int, int], float]:
        """A dictionary of keys: the value of each (row, column)."""
        rows = self.rows
        places = zip(rows.of_entries.tolist(), rows.columns.tolist(), strict=True)
        return dict(zip(places, rows.values.tolist(), strict=True))

    @property
    def structure(self) -> Structure:
        """What an estimate of a format's bytes asks of the matrix."""
        if self._structure is None:
            self._structure = structure_of(self.rows)
        return self._structure

    def estimates(self, gbps: float | None = None, device: DeviceName = "cpu") -> list[Estimate]:
        """What a product on a kind of device would move and take in each format, the fastest first.

        The rates are those of an H200 or of a processor, see `rooftile.analysis.spmv_machines`; all
        of them are scaled to a bandwidth of ``gbps``.
        """
        return estimates(self.structure, gbps, machine_of(device))

    def explain(self, gbps: float | None = None, device: DeviceName = "cpu") -> str:
        """Why a format suits the matrix: bytes and time of each, see `estimates`, and the course's
        rule of thumb."""
        return "\n".join([repr(self), *described(self.structure, gbps, machine_of(device))])

    def problem(self, *, updated: bool = False, resident: bool = False) -> Spmv:
        """The problem of its product with a vector; ``resident``: on a GPU, where it stays."""
        return self._operands.problem(updated, resident)

    def on(self, given: Arguments[Any], x: Taken, tiled: bool = False) -> tuple[Taken, ...]:
        """The arrays where x lies; ``tiled``: as `Spmv.tiled` says."""
        return self._operands.on(given, x, tiled)


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
    Matrix Market file (``.mtx``, ``.mtx.gz``), which SciPy reads.  Entries may come in any
    order, those of one place are added (in float64), and zeros are no entries.  Values are float32,
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
        held = Sparse(rows.shape, "csr", laid_out(rows, "csr"), rows.entries)
    if format is None and device is None:
        return held
    if format == "auto":
        format = fastest(held.structure, machine_of(device or "cpu"))
    return held.to(format or held.format, device=device)


def spmv(
    A: Sparse,
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
    [rows].  x and y are float32, beside values of float64 float64; values of float16 are summed in
    float32.
    Where beta is 0, y is not read.  An entry of a matrix is never multiplied where it is 0: padding
    does not make NaN of an infinite x.  Every run gives the same bits, but on a GPU for ``coo`` and
    ``csc``, whose strategies ``coo_atomic`` and ``csc`` add by atomics.

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
        return of_nothing(given, vector, matrix.shape[:1], summed, device, out)
    updated = factors != (1.0, 0.0)
    problem = matrix.problem(updated=updated, resident=isinstance(vector, CudaArray))
    inputs = [*matrix.on(given, vector, problem.tiled), vector]
    if updated:
        inputs += [beside(given, vector, factor, summed) for factor in factors]
        if start is None:
            start = placed(given, vector, np.zeros(matrix.shape[0], summed))
        inputs.append(start)
    return run(given, problem, inputs, {}, "ieee", strategy, device, out)


def spmm(
    A: Sparse,
    b: Any,
    *,
    transposed: bool = False,
    strategy: str | None = None,
    device: DeviceName | None = None,
    out: Any = None,
) -> Any:
    """``A b``, a sparse matrix times a dense one; with ``transposed`` A's transpose times it.

    A is a `Sparse` ``[rows][columns]``, b is ``[columns][width]`` of float32, beside values of
    float64 float64, and the result ``[rows][width]``.  It is computed in CSR; other formats are
    converted first.
    """
    matrix = _matrix(A, transposed)._as_csr()
    given, summed = Arguments(b, "b"), _summed(matrix)
    dense = given.take("b", b, "columns, width", dtypes=(summed,), empty=True)
    check_length("b", dense, matrix.shape[1])
    rows, width = matrix.shape[0], int(dense.shape[1])
    if not matrix.nnz or 0 in (rows, width):
        return of_nothing(given, dense, (rows, width), summed, device, out)
    problem = _spmm(*matrix.shape, matrix.nnz, width, matrix._dtype, matrix._index)
    inputs = [*matrix.on(given, dense), dense]
    return run(given, problem, inputs, {}, "ieee", strategy, device, out)


def _matrix(A: Any, transposed: bool) -> Sparse:
    if not isinstance(A, Sparse):
        raise InputError("A", f"a {type(A).__name__}", "a matrix of rooftile.sparse")
    return A.transpose() if transposed else A


def _summed(matrix: Sparse) -> Dtype:
    """The dtype of products and of what A is multiplied with."""
    return "float64" if matrix.dtype == np.float64 else "float32"


def _form(format: Any) -> Form:
    if format not in FORMS:
        raise InputError("format", repr(format), f"one of {list(FORMS)}")
    form: Form = format
    return form


_spmm = remembered(Spmm)
