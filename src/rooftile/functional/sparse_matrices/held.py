"""A sparse matrix in a format: what it holds, and as which others it can be held."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from rooftile.analysis.spmv import Estimate, Structure, described, estimates
from rooftile.devices.select import DeviceName, parse_device
from rooftile.errors import check_word
from rooftile.functional.sparse_matrices.checked import checked
from rooftile.functional.sparse_matrices.conversion import converted
from rooftile.functional.sparse_matrices.device_arrays import DeviceArrays, kept
from rooftile.functional.sparse_matrices.operands import Operands
from rooftile.functional.sparse_matrices.structure import (
    check_chosen,
    check_padding,
    check_sizes,
    machine_of,
    structure_of,
)
from rooftile.ops.problem import AnyArray
from rooftile.ops.sparse.layouts import laid_out
from rooftile.ops.sparse.rows import ARRAYS, FORMS, Form, Rows
from rooftile.ops.sparse.spmv import Spmv
from rooftile.runtime.arguments import Arguments, Taken
from rooftile.runtime.calls.plain import plain
from rooftile.strategies.common.sparse_conversion import columns_of, rows_of
from rooftile.strategies.common.sparse_sorting import SORTING


class Held:
    """A matrix ``[rows][columns]`` in a format; nothing changes it.

    ``arrays`` are the format's, by name, NumPy's. On a GPU a product's first call copies them to
    x's device, and they stay there as long as the matrix. A matrix converted on a GPU, see `to`, is
    there already; an array is copied to the host when it is asked for.

    Arrays that a caller has laid out are looked at once, when the matrix is made: dtypes, shapes,
    indices and offsets, so that no product reads or writes outside of an array.  Contiguous ones
    are not copied, unless entries are out of order or twice in one place: these are sorted and
    added, as SciPy's ``sum_duplicates`` does.  Who changes an array afterwards answers for it:
    nothing looks again, and what was made of it before, such as a copy on a GPU, stays as it was.
    """

    shape: tuple[int, int]
    format: Form
    nnz: int

    def __init__(
        self, shape: tuple[int, int], form: Form, arrays: Mapping[str, AnyArray], entries: int
    ) -> None:
        """``arrays`` are the format's, by name, see `rooftile.ops.sparse.rows.ARRAYS`. Raises
        `InputError`, which names the array, the element and the rule that it breaks."""
        # A conversion made these arrays on the device.
        if not isinstance(arrays, DeviceArrays):
            arrays, entries = checked(shape, form, arrays, entries)
        self._hold(shape, form, arrays, entries)

    @classmethod
    def _made(
        cls, shape: tuple[int, int], form: Form, arrays: Mapping[str, AnyArray], entries: int
    ) -> Self:
        """A matrix whose arrays rooftile has laid out, which need no check."""
        self = cls.__new__(cls)
        self._hold(shape, form, arrays, entries)
        return self

    def _hold(
        self, shape: tuple[int, int], form: Form, arrays: Mapping[str, AnyArray], entries: int
    ) -> None:
        self.shape = shape
        self.format = form
        self.arrays = arrays if isinstance(arrays, DeviceArrays) else dict(arrays)
        self.nnz = entries
        self._rows: Rows | None = None
        self._structure: Structure | None = None
        self._diagonal: AnyArray | None = None
        self._transpose: Self | None = None
        self._in_rows: Self | None = None
        self._operands = Operands(shape, form, self.arrays, entries)

    def __reduce__(self) -> tuple[type[Self], tuple[Any, ...]]:
        """A copy has the arrays alone, NumPy's: what calls made of them stays on its device."""
        return type(self), (self.shape, self.format, dict(self.arrays), self.nnz)

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
    def T(self) -> Self:
        """The transpose, see `transpose`."""
        return self.transpose()

    def __repr__(self) -> str:
        height, width = self.shape
        kinds = f"{self.dtype} and {self.index}"
        return f"<{height}x{width} sparse matrix, {self.nnz} entries, {self.format} of {kinds}>"

    @property
    def rows(self) -> Rows:
        """The arrays of CSR."""
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
    ) -> Self:
        """The same matrix in another format.

        ``width`` is how many entries of a row a hybrid's ELL part takes, by default as many as a
        third of the rows have; ``block`` the rows of a block of BSR.  A ``device`` that is a GPU
        converts it in its memory, where the arrays stay for further conversions and, on CUDA, for
        products.  Raises `InputError` for an unknown format, and for one that would be nearly all
        padding, `DeviceMissing`, `OutOfMemory`.
        """
        form = _form(format)
        if device is not None:
            parse_device(device)
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

    def _again(self, form: Form, arrays: Mapping[str, AnyArray]) -> Self:
        """The same matrix with other arrays."""
        found = self._made(self.shape, form, arrays, self.nnz)
        found._rows, found._structure = self._rows, self._structure
        return found

    def transpose(self) -> Self:
        """The transpose: of CSR in CSC and the other way round without a copy, else in the same
        format."""
        if self._transpose is None:
            self._transpose = self._turned()
        return self._transpose

    def _turned(self) -> Self:
        shape = self.shape[::-1]
        if self.format in ("csr", "csc"):
            to: Form = "csc" if self.format == "csr" else "csr"
            if isinstance(self.arrays, DeviceArrays):
                return self._made(shape, to, self.arrays.renamed(ARRAYS[to]), self.nnz)
            made = dict(zip(ARRAYS[to], self.arrays.values(), strict=True))
            return self._made(shape, to, made, self.nnz)
        turned = SORTING.turned(self.rows)
        matrix = self._made(shape, "csr", laid_out(turned, "csr"), self.nnz)
        return matrix.to(self.format)

    def _as_csr(self) -> Self:
        """The same matrix in CSR, which stays."""
        if self._in_rows is None:
            self._in_rows = self.to("csr")
        return self._in_rows

    def to_scipy(self) -> Any:
        """SciPy's matrix: CSR, CSC, COO, BSR or DIA as this one's format, for others CSR. SciPy has
        no float16; it is given float32."""
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
        """The positions of entries that an estimate of a format's bytes depends on."""
        if self._structure is None:
            self._structure = structure_of(self.rows)
        return self._structure

    @plain
    def estimates(self, gbps: float | None = None, device: DeviceName = "cpu") -> list[Estimate]:
        """Traffic and time of a product on a kind of device in each format, the fastest first. The
        rates are an H200's or a processor's, see `rooftile.analysis.spmv_machines`; all of them are
        scaled to a bandwidth of ``gbps``."""
        return estimates(self.structure, gbps, machine_of(device))

    @plain
    def explain(self, gbps: float | None = None, device: DeviceName = "cpu") -> str:
        """Why a format suits the matrix: bytes and time of each, see `estimates`, and the course's
        rule of thumb."""
        return "\n".join([repr(self), *described(self.structure, gbps, machine_of(device))])

    def problem(self, *, updated: bool = False, resident: bool = False) -> Spmv:
        """The problem of its product with a vector; ``resident``: on a GPU, where it stays."""
        return self._operands.problem(updated, resident)

    def on(self, given: Arguments[Any], x: Taken, tiled: bool = False) -> tuple[Taken, ...]:
        """The arrays on x's device; ``tiled``: as `Spmv.tiled` says."""
        return self._operands.on(given, x, tiled)


def _form(format: Any) -> Form:
    check_word("format", format, FORMS)
    form: Form = format
    return form
