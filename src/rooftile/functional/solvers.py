"""Solvers that are made of products of a sparse matrix with vectors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np

from rooftile.devices import cpu
from rooftile.devices.cpu.native import source
from rooftile.errors import InputError
from rooftile.functional.matrices import Sparse, spmv
from rooftile.ops.problem import AnyArray

_CHUNK = 2**13
"""Elements of a unit of work."""
_FLAGS = "reassoc contract"

_DOT = """
def kernel(a, b, partial, sizes, begin, end):
    for unit in range(begin, end):
        total = np.float64(0.0)
        for i in range(unit * CHUNK, min(unit * CHUNK + CHUNK, a.size)):
            total = total + np.float64(a[i]) * np.float64(b[i])
        partial[unit] = total
"""
_ADVANCE = """
def kernel(x, r, z, p, q, inverse, alpha, partial, norms, sizes, begin, end):
    # x moves along p, and what that leaves of the residual r is weighed by the diagonal.
    for unit in range(begin, end):
        total = np.float64(0.0)
        norm = np.float64(0.0)
        step = alpha[0]
        for i in range(unit * CHUNK, min(unit * CHUNK + CHUNK, x.size)):
            x[i] = x[i] + step * p[i]
            left = r[i] - step * q[i]
            r[i] = left
            weighed = left * inverse[i]
            z[i] = weighed
            total = total + np.float64(left) * np.float64(weighed)
            norm = norm + np.float64(left) * np.float64(left)
        partial[unit] = total
        norms[unit] = norm
"""
_TURN = """
def kernel(p, z, beta, sizes, begin, end):
    for unit in range(begin, end):
        share = beta[0]
        for i in range(unit * CHUNK, min(unit * CHUNK + CHUNK, p.size)):
            p[i] = z[i] + share * p[i]
"""


@dataclass(frozen=True)
class Solution:
    """What a solver has found."""

    x: AnyArray
    iterations: int
    residual: float
    """The norm of ``b - A x``, computed anew, over that of b."""
    converged: bool
    """Whether the solver's own residual came to the tolerance."""


def cg(
    A: Sparse,
    b: AnyArray,
    tolerance: float = 1e-6,
    *,
    start: AnyArray | None = None,
    preconditioner: Literal["jacobi"] | None = "jacobi",
    limit: int | None = None,
) -> Solution:
    """Solve ``A x = b`` by conjugate gradients, for a symmetric positive definite A.

    A is a `Sparse` ``[n][n]``, b and ``start`` (zeros where it is None) are NumPy's arrays [n] of
    float32, or float64 beside float64.  It ends when the residual's norm is ``tolerance`` times
    that of b, or after ``limit`` products with A, by default 10 n.  ``jacobi`` divides by A's
    diagonal.  Sums of products are in float64.  Between two products lie two passes over the
    vectors: all updates of one step are one kernel, which also makes both sums.

    Raises `InputError` for a matrix that is not square, a diagonal with a zero, and a product that
    shows that A is not positive definite.

    Sources: Hestenes and Stiefel, "Methods of Conjugate Gradients for Solving Linear Systems", J.
    Res. NBS 49 (1952); Saad, "Iterative Methods for Sparse Linear Systems", 2nd ed., section 9.2.
    """
    kind = _check(A, b, tolerance)
    x = np.zeros_like(b) if start is None else np.array(start, kind)
    if x.shape != b.shape:
        raise InputError("start", f"shape {x.shape}", f"{b.shape}, as b has it")
    inverse = _inverse(A, kind) if preconditioner == "jacobi" else np.ones(len(b), kind)
    limit = 10 * len(b) if limit is None else limit
    goal = tolerance * math.sqrt(_dot(b, b))
    r = np.asarray(b - spmv(A, x), kind)
    z = np.asarray(r * inverse, kind)
    p, q = z.copy(), np.empty_like(b)
    along, norm, done = _dot(r, z), math.sqrt(_dot(r, r)), 0
    while norm > goal and done < limit:
        spmv(A, p, out=q)
        curvature = _dot(p, q)
        if not curvature > 0:
            raise InputError("A", f"p^T A p = {curvature}", "a positive definite matrix")
        before = along
        along, square = _advance(x, r, z, p, q, inverse, before / curvature)
        norm, done = math.sqrt(square), done + 1
        _turn(p, z, along / before)
    left = np.asarray(b - spmv(A, x), np.float64)
    size = math.sqrt(_dot(b, b)) or 1.0
    return Solution(x, done, float(np.linalg.norm(left)) / size, norm <= goal)


def _check(A: Any, b: Any, tolerance: float) -> np.dtype[Any]:
    if not isinstance(A, Sparse) or A.shape[0] != A.shape[1]:
        found = A.shape if isinstance(A, Sparse) else f"a {type(A).__name__}"
        raise InputError("A", found, "a square matrix of rooftile.sparse")
    kind = np.dtype(np.float64 if A.dtype == np.float64 else np.float32)
    if not isinstance(b, np.ndarray) or b.dtype != kind or b.shape != A.shape[:1]:
        raise InputError("b", f"a {type(b).__name__}", f"NumPy's {kind} [{A.shape[0]}]")
    if not tolerance > 0:
        raise InputError("tolerance", tolerance, "a number above 0")
    return kind


def _inverse(A: Sparse, kind: np.dtype[Any]) -> AnyArray:
    rows = A.rows
    owners = rows.of_entries
    on = owners == rows.columns
    diagonal = np.zeros(A.shape[0], kind)
    diagonal[owners[on]] = rows.values[on]
    missing = np.flatnonzero(diagonal == 0)
    if missing.size:
        place = f"A[{missing[0]}, {missing[0]}]"
        raise InputError(place, 0, "another number: preconditioner='jacobi' divides by it")
    return np.asarray(1 / diagonal, kind)


@cache
def _spread(stem: str, text: str, *dtypes: str) -> cpu.Spread:
    return cpu.Spread(source(stem, text.replace("CHUNK", str(_CHUNK)), flags=_FLAGS), dtypes)


def _units(count: int) -> int:
    return max(1, -(-count // _CHUNK))


def _dot(a: AnyArray, b: AnyArray) -> float:
    units = _units(len(a))
    partial = np.zeros(units)
    run = _spread("cg_dot", _DOT, a.dtype.name, b.dtype.name, "float64")
    run((np.ascontiguousarray(a), np.ascontiguousarray(b), partial), _NO_SIZES, units, cpu.cores())
    return float(partial.sum())


def _advance(
    x: AnyArray,
    r: AnyArray,
    z: AnyArray,
    p: AnyArray,
    q: AnyArray,
    inverse: AnyArray,
    alpha: float,
) -> tuple[float, float]:
    """Take a step, and give r z and r r."""
    units, kind = _units(len(x)), x.dtype
    sums, norms = np.zeros(units), np.zeros(units)
    run = _spread("cg_advance", _ADVANCE, *[kind.name] * 7, "float64", "float64")
    factor = np.array([alpha], kind)
    run((x, r, z, p, q, inverse, factor, sums, norms), _NO_SIZES, units, cpu.cores())
    return float(sums.sum()), float(norms.sum())


def _turn(p: AnyArray, z: AnyArray, beta: float) -> None:
    """The next direction."""
    run = _spread("cg_turn", _TURN, *[p.dtype.name] * 3)
    run((p, z, np.array([beta], p.dtype)), _NO_SIZES, _units(len(p)), cpu.cores())


_NO_SIZES = np.zeros(1, np.int64)
