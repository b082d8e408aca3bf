"""The matrices that `rooftile.sparse` takes: other libraries' matrices, triplets and dense arrays,
checked.

Other libraries' matrices are known by their attributes, without an import; only SciPy is imported,
for Matrix Market files.
"""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from os import PathLike, fspath
from typing import Any

import numpy as np

from rooftile.errors import InputError, check_word
from rooftile.ops.array import DTYPES as ANY_DTYPE
from rooftile.ops.array import AnyArray
from rooftile.ops.sparse.rows import Rows, of_triplets, summed
from rooftile.ops.sparse.spmv import DTYPES
from rooftile.runtime.arrays.libraries import library_of
from rooftile.strategies.common.sparse_sorting import SORTING, looked_in_rows

_KINDS = (
    "a matrix of SciPy or CuPy, a sparse or dense tensor of PyTorch, a dense array, a path, "
    "(values, (rows, columns)), (values, columns, offsets), or {(row, column): value}"
)
_REACH = 2**31 - 1


def rows_from(
    matrix: Any, shape: tuple[int, int] | None, dtype: str | None, index: str | None
) -> Rows:
    """The rows of a matrix: columns rise, entries of one place are added, zeros are left out.

    Raises `InputError` naming the entry and the rule that it breaks.
    """
    if isinstance(matrix, str | PathLike):
        matrix = _read(matrix)
    kind, shape, arrays = _taken(matrix, shape)
    values = _values(arrays[0], dtype)
    chosen = _index(index, shape, len(values))
    if kind == "coo":
        places = [_whole(n, a) for n, a in zip(("rows", "columns"), arrays[1:], strict=True)]
        for name, given, size in zip(("rows", "columns"), places, shape, strict=True):
            if given.shape != values.shape:
                raise InputError(name, f"{len(given)} elements", f"{len(values)}, as values has")
            check_range(name, given, size)
        down, across = (place.astype(chosen, copy=False) for place in places)
        return of_triplets(shape, values, down, across, SORTING)
    columns, offsets = _whole("columns", arrays[1]), _whole("offsets", arrays[2])
    check_offsets(offsets, shape[0], len(values))
    if columns.shape != values.shape:
        raise InputError("columns", f"{len(columns)} elements", f"{len(values)}, as values has")
    if columns.dtype.itemsize > np.dtype(chosen).itemsize:
        # A number that is too large must not become a smaller one.
        check_range("columns", columns, shape[1])
    places = [part.astype(chosen, copy=False) for part in (columns, offsets)]
    return _canonical(Rows(shape, values, *places))


def _read(path: str | PathLike[str]) -> Any:
    """The matrix of a Matrix Market file, by SciPy; patterns have ones."""
    try:
        import scipy.io
    except ImportError:
        expected = "SciPy, which reads Matrix Market files: pip install scipy"
        raise InputError("matrix", f"the path {fspath(path)!r}", expected) from None
    try:
        # Newer versions warn until they are told which of their two kinds to make.
        kind = {"spmatrix": False} if "spmatrix" in signature(scipy.io.mmread).parameters else {}
        found = scipy.io.mmread(path, **kind)
    except OSError as error:
        told = error.strerror or str(error)
        raise InputError("matrix", f"the path {fspath(path)!r}", f"a file ({told})") from None
    except ValueError as error:
        expected = f"a Matrix Market file ({error})"
        raise InputError("matrix", f"the path {fspath(path)!r}", expected) from None
    if found.dtype.kind == "c":
        raise InputError("matrix", f"complex numbers in {fspath(path)!r}", "real ones")
    return found if found.dtype.kind == "f" else found.astype(np.float64)


def _canonical(rows: Rows) -> Rows:
    zeros, falls, repeats, outside = looked_in_rows(rows)
    if outside:
        check_range("columns", rows.columns, rows.shape[1])
    if zeros:
        return of_triplets(rows.shape, rows.values, rows.of_entries, rows.columns, SORTING)
    if falls:
        # To turn a matrix twice sorts the columns of its rows.
        return summed(SORTING.turned(SORTING.turned(rows)))
    return summed(rows) if repeats else rows


def _taken(
    matrix: Any, shape: tuple[int, int] | None
) -> tuple[str, tuple[int, int], tuple[Any, ...]]:
    """``coo`` (values, rows, columns) or ``csr`` (values, columns, offsets), shape and arrays."""
    # SciPy's dictionary of keys is a mapping too.
    listed = not hasattr(matrix, "tocoo") and isinstance(matrix, Mapping)
    if listed:
        return "coo", _shape(shape), _of_keys(matrix)
    if isinstance(matrix, tuple | list) and len(matrix) in (2, 3):
        if len(matrix) == 3:
            return "csr", _shape(shape), tuple(matrix)
        if hasattr(matrix[1], "__len__") and len(matrix[1]) == 2:
            return "coo", _shape(shape), (matrix[0], *matrix[1])
    if hasattr(matrix, "layout") and hasattr(matrix, "detach"):
        found = _of_torch(matrix)
    elif hasattr(matrix, "tocoo") and hasattr(matrix, "format"):
        found = _of_scipy(matrix)
    else:
        dense = on_host("matrix", matrix)
        if not isinstance(dense, np.ndarray) or dense.ndim != 2:
            raise InputError("matrix", f"a {type(matrix).__name__}", _KINDS)
        found = _of_dense(dense)
    if shape is not None and _shape(shape) != found[1]:
        raise InputError("shape", shape, f"{found[1]}, as the matrix has, or None")
    return found


def _of_keys(matrix: Mapping[Any, Any]) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Values, rows and columns of {(row, column): value}."""
    for key in matrix:
        if not (isinstance(key, tuple) and len(key) == 2):
            raise InputError("matrix", f"the key {key!r}", "(row, column)")
    places = np.array([*matrix], np.int64).reshape(-1, 2)
    values = np.array([*matrix.values()])
    if values.dtype == np.float64 and all(type(v) is float for v in matrix.values()):
        values = values.astype(np.float32)
    return values, places[:, 0], places[:, 1]


def _of_scipy(matrix: Any) -> tuple[str, tuple[int, int], tuple[Any, ...]]:
    shape = int(matrix.shape[0]), int(matrix.shape[1])
    if matrix.format == "csr":
        return "csr", shape, (matrix.data, matrix.indices, matrix.indptr)
    coo = matrix.tocoo()
    return "coo", shape, (coo.data, coo.row, coo.col)


def _of_torch(tensor: Any) -> tuple[str, tuple[int, int], tuple[Any, ...]]:
    library_of("matrix", tensor).check_unrecorded("matrix", tensor)
    layout, tensor = str(tensor.layout), tensor.detach()
    if tensor.ndim != 2:
        raise InputError("matrix", f"a tensor with {tensor.ndim} axes", "one with two")
    shape = int(tensor.shape[0]), int(tensor.shape[1])
    if layout == "torch.sparse_csr":
        return "csr", shape, (tensor.values(), tensor.col_indices(), tensor.crow_indices())
    if layout == "torch.sparse_coo":
        # What is not coalesced may name a place twice, which is added up here too.
        return "coo", shape, (tensor._values(), *tensor._indices())
    if layout != "torch.strided":
        # CSC and blocks.
        coo = tensor.to_sparse_coo()
        return "coo", shape, (coo._values(), *coo._indices())
    return _of_dense(on_host("matrix", tensor))


def _of_dense(dense: AnyArray) -> tuple[str, tuple[int, int], tuple[Any, ...]]:
    places = np.nonzero(dense)
    return "coo", (dense.shape[0], dense.shape[1]), (dense[places], *places)


def on_host(name: str, array: Any) -> Any:
    """An array of another library as NumPy's; one on a GPU is copied."""
    if hasattr(array, "detach"):
        return library_of(name, array).on_host(name, array.cpu(), ANY_DTYPE)
    if hasattr(array, "get") and hasattr(array, "__cuda_array_interface__"):
        return array.get()
    if isinstance(array, np.ndarray):
        return array
    try:
        return np.asarray(array)
    except ValueError as error:
        # Rows of different lengths, or what only looks like an array.
        raise InputError(name, f"a {type(array).__name__}: {error}", "numbers") from None


def _values(given: Any, dtype: str | None) -> AnyArray:
    values = on_host("values", given)
    if dtype is not None:
        check_word("dtype", dtype, DTYPES)
    if values.ndim != 1:
        raise InputError("values", f"{values.ndim} axes", "1: [entries]")
    if values.dtype.kind == "c" or (dtype is None and values.dtype.name not in DTYPES):
        raise InputError("values", f"dtype {values.dtype}", f"one of {list(DTYPES)}, or dtype=")
    return np.ascontiguousarray(values, dtype or values.dtype.newbyteorder("="))


def _whole(name: str, given: Any) -> AnyArray:
    array = on_host(name, given)
    if array.size == 0:
        return np.zeros(0, np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise InputError(name, f"{array.ndim} axes of {array.dtype}", "one axis of integers")
    return np.ascontiguousarray(array)


def _shape(shape: Any) -> tuple[int, int]:
    whole = isinstance(shape, tuple | list) and len(shape) == 2
    if not whole or any(not isinstance(n, int | np.integer) or n < 0 for n in shape):
        raise InputError("shape", repr(shape), "(rows, columns), which entries alone do not tell")
    return int(shape[0]), int(shape[1])


def _index(asked: str | None, shape: tuple[int, int], entries: int) -> str:
    fits = max(*shape, entries) < _REACH
    if asked is None:
        return "int32" if fits else "int64"
    check_word("index", asked, ("int32", "int64"))
    if asked == "int32" and not fits:
        raise InputError("index", repr(asked), "int64, or int32 below 2^31 elements")
    return asked


def check_range(name: str, index: AnyArray, size: int, what: str = "") -> None:
    """Raise `InputError` unless all indices are from 0 to below the matrix's number of ``what``."""
    if not index.size:
        return
    # Without their signs what is below 0 is above all else: one pass finds both.
    if index.view(f"uint{8 * index.itemsize}").max() < size:
        return
    flat = index.reshape(-1)
    at = int(np.flatnonzero((flat < 0) | (flat >= size))[0])
    where = ", ".join(str(int(k)) for k in np.unravel_index(at, index.shape))
    raise InputError(
        f"{name}[{where}]", flat[at], f"at least 0 and below {size}, the matrix's {what or name}"
    )


def check_offsets(offsets: AnyArray, rows: int, entries: int, name: str = "offsets") -> None:
    """Raise `InputError` unless offsets of ``rows`` rows rise from 0 to the number of entries."""
    if len(offsets) != rows + 1:
        raise InputError(name, f"{len(offsets)} elements", f"{rows + 1}: one more than rows")
    for at, expected, why in ((0, 0, "where the first row begins"), (rows, entries, "all entries")):
        if offsets[at] != expected:
            raise InputError(f"{name}[{at}]", offsets[at], f"{expected}: {why}")
    falls = np.flatnonzero(offsets[1:] < offsets[:-1])
    if falls.size:
        at = int(falls[0]) + 1
        raise InputError(
            f"{name}[{at}]", offsets[at], f"at least {offsets[at - 1]}: offsets never fall"
        )
