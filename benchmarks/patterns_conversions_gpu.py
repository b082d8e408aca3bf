"""Conversions between formats of sparse matrices in a GPU's memory, beside CuPy's.

Matrices have ten million entries.  CuPy has CSR, CSC and COO; its COO of a CSC would stay in the
order of columns, so it goes by CSR.  Every result is led back to CSR, whose arrays must be those of
the beginning to the bit, and multiplied: a format that others cannot be told from is none.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import torch
from patterns_rows import Record, Watch

import rooftile
from rooftile.ops.sparse import generated as patterns
from rooftile.ops.sparse.rows import ARRAYS, Form
from rooftile.runtime.timing.host import interleaved

_ROWS = {True: 10**6, False: 10**3}
_SECONDS = 0.05
"""Seconds of samples of each contestant."""
_CUPY: tuple[Form, ...] = ("csr", "csc", "coo")
_EVEN: tuple[Form, ...] = (*_CUPY, "ell", "jds", "jds_t", "hybrid")


def _matrices(rows: int) -> Iterator[tuple[str, Any, tuple[Form, ...]]]:
    kinds = "float32", "int32", np.random.default_rng(0)
    lengths = patterns.even_lengths(rows, 10 * rows)
    made = patterns.rows_with(lengths, rows, *kinds)
    # Sorted, as CSR lies between all formats; one of two in the same place moves on.
    ordered = np.sort(made.columns.reshape(rows, 10), axis=1) // 10 + np.arange(10) * (rows // 10)
    made.columns[:] = ordered.reshape(-1).astype(made.columns.dtype)
    yield "random", made, _EVEN
    made = patterns.diagonal_rows(rows, np.arange(-5, 5), *kinds)
    yield "10 diagonals", made, ("csr", "dia", "bsr")
    size = 4 * (rows // 5)
    made = patterns.block_rows((size, size), 12 * size, 4, *kinds)
    yield "blocks of 4x4", made, ("csr", "bsr")


def measured(bench: Any, watch: Watch) -> Iterator[list[Record]]:
    """A record for each pair of formats, after each all of them so far."""
    found: list[Record] = []
    place: Any = "opencl" if bench.device is None else "cuda"
    for name, rows, forms in _matrices(_ROWS[bench.device is not None]):
        arrays = dict(zip(ARRAYS["csr"], (rows.values, rows.columns, rows.offsets), strict=True))
        csr = rooftile.Sparse(rows.shape, "csr", arrays, rows.entries)
        x: Any = np.random.default_rng(1).standard_normal(rows.shape[1], np.float32)
        expected = rooftile.spmv(csr, x, device=place)
        ours = {form: csr.to(form, device=place) for form in forms}
        theirs = {} if bench.device is None else _cupy(arrays, rows.shape, forms)
        for first, second in itertools.permutations(forms, 2):
            if "csr" not in (first, second) and not {first, second} <= {*_CUPY}:
                # By CSR.
                continue
            if watch.left_s < 0:
                return
            mine = partial(_converted, ours[first], second, place)
            _check(mine(), arrays, x, expected, place)
            pair: dict[str, Callable[[], Any]] = {"rooftile": mine}
            if first in theirs and second in theirs:
                pair["cupy"] = _theirs(theirs[first], first, second)
            timings = interleaved(pair, seconds=_SECONDS)
            took = {who: timing.median for who, timing in timings.items()}
            of = {"matrix": name, "entries": csr.nnz, "from": first, "to": second}
            found.append({**of, "ms": took})
            yield found


def _converted(matrix: rooftile.Sparse, form: Form, place: Any) -> rooftile.Sparse:
    # Another matrix of the same arrays: a conversion is kept for the next one.
    again = rooftile.Sparse._made(matrix.shape, matrix.format, matrix.arrays, matrix.nnz)
    return again.to(form, device=place)


def _cupy(
    arrays: Mapping[str, Any], shape: tuple[int, int], forms: tuple[Form, ...]
) -> dict[Form, Any]:
    import cupy
    import cupyx.scipy.sparse

    held = tuple(cupy.asarray(array) for array in arrays.values())
    matrix = cupyx.scipy.sparse.csr_matrix(held, shape)
    return {form: matrix.asformat(form) for form in forms if form in _CUPY}


def _theirs(matrix: Any, first: Form, second: Form) -> Callable[[], Any]:
    def convert() -> Any:
        by_rows = matrix.tocsr() if (first, second) == ("csc", "coo") else matrix
        made = by_rows.asformat(second)
        torch.cuda.synchronize()
        return made

    return convert


def _check(
    made: rooftile.Sparse, arrays: Mapping[str, Any], x: Any, expected: Any, place: Any
) -> None:
    """Raise `ArithmeticError` if it is another matrix."""
    back = _converted(made, "csr", place).arrays
    for name, array in arrays.items():
        if not np.array_equal(back[name], array):
            raise ArithmeticError(f"{made!r}: other {name} than before")
    product = rooftile.spmv(made, x, device=place)
    if not np.allclose(product, expected, rtol=1e-5, atol=1e-5):
        raise ArithmeticError(f"{made!r} has another product")
