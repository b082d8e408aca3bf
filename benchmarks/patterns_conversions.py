"""Conversions between formats of sparse matrices on the CPU, beside SciPy's.

Each pair of formats that SciPy has, of matrices with ten million entries that the formats suit.
Both begin with arrays in the order of rows; SciPy's COO of a CSC would stay in that of columns, so
it goes by CSR, as products of COO by rows need it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse
from patterns_rows import Record, Watch

import rooftile
from rooftile.ops.sparse import generated as patterns
from rooftile.ops.sparse.rows import Form
from rooftile.runtime.timing.host import interleaved

_ROWS = 10**6
_SECONDS = 0.6
"""Seconds of samples of each contestant."""
_ANY: tuple[Form, ...] = ("csr", "csc", "coo")


def _matrices() -> Iterator[tuple[str, rooftile.Sparse, tuple[Form, ...]]]:
    kinds = "float32", "int32", np.random.default_rng(0)
    lengths = patterns.even_lengths(_ROWS, 10 * _ROWS)
    made = patterns.rows_with(lengths, _ROWS, *kinds)
    yield "random", _held(made), _ANY
    made = patterns.diagonal_rows(_ROWS, np.arange(-5, 5), *kinds)
    yield "10 diagonals", _held(made), (*_ANY, "bsr", "dia")
    size = 4 * (_ROWS // 5)
    made = patterns.block_rows((size, size), 12 * size, 4, *kinds)
    yield "blocks of 4x4", _held(made), (*_ANY, "bsr")


def _held(rows: Any) -> rooftile.Sparse:
    return rooftile.sparse((rows.values, rows.columns, rows.offsets), shape=rows.shape)


def measured(watch: Watch) -> Iterator[list[Record]]:
    """A record for each pair of formats, after each all of them so far."""
    found: list[Record] = []
    for name, matrix, forms in _matrices():
        ours = {form: matrix.to(form) for form in forms}
        theirs = {form: _scipy(matrix.to_scipy(), form) for form in forms}
        for first, second in itertools.permutations(forms, 2):
            if watch.left_s < 0:
                return
            pair: dict[str, Callable[[], Any]] = {
                "rooftile": partial(_converted, ours[first], second),
                "scipy": _theirs(theirs[first], first, second),
            }
            _check(pair["rooftile"](), pair["scipy"]())
            timings = interleaved(pair, seconds=_SECONDS)
            took = {who: timing.median for who, timing in timings.items()}
            found.append(
                {"matrix": name, "entries": matrix.nnz, "from": first, "to": second, "ms": took}
            )
            ratio = took["scipy"] / took["rooftile"]
            print(f"{name}: {first} to {second}: {took}, {ratio:.2f}", flush=True)
            yield found


def _converted(matrix: rooftile.Sparse, form: Form) -> rooftile.Sparse:
    # Another matrix of the same arrays: a conversion is kept for the next one.
    again = rooftile.Sparse._made(matrix.shape, matrix.format, matrix.arrays, matrix.nnz)
    return again.to(form)


def _scipy(matrix: Any, form: Form) -> Any:
    return matrix.tobsr((4, 4)) if form == "bsr" else matrix.asformat(form)


def _theirs(matrix: Any, first: Form, second: Form) -> Callable[[], Any]:
    if (first, second) == ("csc", "coo"):
        return lambda: matrix.tocsr().tocoo()
    return partial(_scipy, matrix, second)


def _check(mine: rooftile.Sparse, other: Any) -> None:
    """Raise `ArithmeticError` if they are not the same matrix."""
    difference = scipy.sparse.csr_matrix(mine.to_scipy()) - scipy.sparse.csr_matrix(other)
    if difference.nnz and abs(difference).max():
        raise ArithmeticError(f"{mine!r} is another matrix than SciPy's")
