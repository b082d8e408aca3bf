"""Solvers that are made of products of a sparse matrix with vectors."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from rooftile.devices import cpu, cuda
from rooftile.devices.cpu.native import last_kernels, source
from rooftile.devices.cuda import CudaArray
from rooftile.devices.select import DeviceName, lent_gpu
from rooftile.errors import InputError, check_word
from rooftile.functional.sparse_matrices.conjugate import MOST_DIAGONALS, Conjugate, Diagonals
from rooftile.functional.sparse_matrices.matrix import Sparse
from rooftile.functional.sparse_matrices.products import spmv
from rooftile.ops.checks import is_whole
from rooftile.ops.problem import AnyArray
from rooftile.runtime.arguments import Arguments
from rooftile.runtime.calls.gpu import executable
from rooftile.runtime.calls.plain import plain
from rooftile.runtime.calls.scalars import number
from rooftile.runtime.selection.choice import decide

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
    """A solver's result."""

    x: Any
    """Of the library of b."""
    iterations: int
    residual: float
    """The norm of ``b - A x``, computed anew, over that of b."""
    converged: bool
    """True if the solver's own residual came to the tolerance."""


@plain
def cg(
    A: Sparse,
    b: Any,
    tolerance: float = 1e-6,
    *,
    start: Any = None,
    preconditioner: Literal["jacobi"] | None = "jacobi",
    limit: int | None = None,
    device: DeviceName | None = None,
) -> Solution:
    """Solve ``A x = b`` by conjugate gradients, for a symmetric positive definite A.

    A is a `Sparse` ``[n][n]``, b and ``start`` (zeros where it is None) are arrays [n] of any
    library, float32, or float64 with float64; x is of b's library. It ends when the residual's norm
    is ``tolerance`` times that of b, or after ``limit`` products with A, by default 10 n.
    ``jacobi`` divides by A's diagonal. Sums of products are in float64. On the CPU two passes over
    the vectors come between two products: all updates of one step are one kernel, which also makes
    both sums. On a GPU there are three such passes, a step of a matrix of few diagonals in DIA is
    two kernels in all, and many steps are one graph, whose sums stay on the GPU.

    What has NaN or an infinity in it does not converge, and its residual is NaN.

    Raises `InputError` for a matrix that is not square, a diagonal with a zero, and a product that
    shows that A is not positive definite.

    Sources: Hestenes and Stiefel, "Methods of Conjugate Gradients for Solving Linear Systems", J.
    Res. NBS 49 (1952); Saad, "Iterative Methods for Sparse Linear Systems", 2nd ed., section 9.2.
    """
    kind = _check(A, tolerance, preconditioner, limit)
    given = Arguments(b, "b")
    right = given.take("b", b, "n", dtypes=(kind.name,))
    first = None if start is None else given.take("start", start, "n", dtypes=(kind.name,))
    for name, one in (("b", right), ("start", first)):
        if one is not None and tuple(one.shape) != A.shape[:1]:
            raise InputError(name, f"shape {tuple(one.shape)}", f"{A.shape[:1]}, as A has rows")
    inverse = _inverse(A, kind) if preconditioner == "jacobi" else None
    limit = 10 * A.shape[0] if limit is None else limit
    place = given.device(device)
    if place == "cpu":
        found = _on_the_cpu(A, right, first, inverse, tolerance, limit)
        return replace(found, x=given.given_back(found.x))
    if isinstance(right, CudaArray):
        return _in_place(A, given, right, first, inverse, tolerance, limit)
    return _copied(A, place, right, first, inverse, tolerance, limit)


def _on_the_cpu(
    A: Sparse,
    b: AnyArray,
    start: AnyArray | None,
    inverse: AnyArray | None,
    tolerance: float,
    limit: int,
) -> Solution:
    kind = b.dtype
    weights = np.ones(len(b), kind) if inverse is None else inverse
    x = np.zeros_like(b) if start is None else np.array(start, kind)
    goal = tolerance * math.sqrt(_dot(b, b))
    r = np.asarray(b - spmv(A, x), kind)
    z = np.asarray(r * weights, kind)
    p, q = z.copy(), np.empty_like(b)
    along, norm, done = _dot(r, z), math.sqrt(_dot(r, r)), 0
    while norm > goal and done < limit:
        spmv(A, p, out=q)
        curvature = _dot(p, q)
        if not curvature > 0:
            raise InputError("A", f"p^T A p = {curvature}", "a positive definite matrix")
        before = along
        along, square = _advance(x, r, z, p, q, weights, before / curvature)
        norm, done = math.sqrt(square), done + 1
        _turn(p, z, along / before)
    left = np.asarray(b - spmv(A, x), np.float64)
    size = math.sqrt(_dot(b, b)) or 1.0
    # The goal of an infinite b is infinite, and nothing solves it.
    return Solution(x, done, float(np.linalg.norm(left)) / size, norm <= goal < math.inf)


def _copied(
    A: Sparse,
    place: str,
    b: AnyArray,
    start: AnyArray | None,
    inverse: AnyArray | None,
    tolerance: float,
    limit: int,
) -> Solution:
    """With NumPy's arrays, which are copied to the GPU, and x back."""
    gpu: Any = lent_gpu(place)
    x = np.zeros_like(b) if start is None else np.array(start)
    with gpu.on():
        held = A.on(Arguments(b), b, A.problem(resident=True).tiled)
        matrix = [gpu.upload(array) for array in held]
        to, right = gpu.upload(x), gpu.upload(b)
        weights = None if inverse is None else gpu.upload(inverse)
        found = _solved(A, gpu, place, matrix, to, right, weights, tolerance, limit)
        gpu.copy_out(to, x)
    return replace(found, x=x)


def _in_place(
    A: Sparse,
    given: Arguments[Any],
    b: CudaArray,
    start: CudaArray | None,
    inverse: AnyArray | None,
    tolerance: float,
    limit: int,
) -> Solution:
    """With arrays in the GPU's memory, on a stream of its own after the caller's."""
    gpu: Any = cuda.lent_device(b.device)
    nbytes, caller = b.shape[0] * (8 if b.dtype == "float64" else 4), given.library.stream(b)
    held = A.on(given, b, A.problem(resident=True).tiled)
    matrix = [array.address for array in held]
    with gpu.on(caller):
        x = given.library.result(b.shape, gpu, b.dtype)
        if start is None:
            gpu.clear(x.address, nbytes)
        else:
            gpu.copy(x.address, start.address, nbytes)
    with gpu.on():
        if caller is not None:
            gpu.after_stream(caller)
        weights = None if inverse is None else gpu.upload(inverse)
        ends = (matrix, x.address, b.address, weights)
        found = _solved(A, gpu, given.device(None), *ends, tolerance, limit)
    # The host has waited for the last number of it: x is there for any stream.
    return replace(found, x=given.library.finish(x, gpu))


def _solved(
    A: Sparse,
    gpu: Any,
    place: str,
    matrix: list[Any],
    x: Any,
    b: Any,
    weights: Any,
    tolerance: float,
    limit: int,
) -> Solution:
    """The solution's numbers; x itself is in the device's memory."""
    problem = A.problem(resident=True)
    multiply = executable(decide(problem, "ieee", place), gpu).execution(None)
    workspace = [gpu.allocate(n) for n in multiply.workspace.sizes.values()]

    def product(p: Any, q: Any) -> None:
        multiply.start([*matrix, p, q], workspace)

    ends = (x, b, A.shape[0], problem.summed, product)
    steps = Conjugate(gpu, *ends, inverse=weights, diagonals=_diagonals(A, matrix))
    done, converged = steps.solve(tolerance, limit)
    left = math.sqrt(steps.squared(start=True))
    size = math.sqrt(steps.squared(start=False)) or 1.0
    return Solution(None, done, left / size, converged and math.isfinite(size))


def _diagonals(A: Sparse, matrix: list[Any]) -> Diagonals | None:
    """The matrix, if it is one whose products are made with the directions."""
    count = len(A.arrays.get("diagonals", ()))
    if A.format != "dia" or count > MOST_DIAGONALS or A.dtype == np.float16 or not A.nnz:
        return None
    values, diagonals = matrix
    return Diagonals(values, diagonals, count, A.index)


def _check(A: Any, tolerance: Any, preconditioner: Any, limit: Any) -> np.dtype[Any]:
    if not isinstance(A, Sparse) or A.shape[0] != A.shape[1]:
        found = A.shape if isinstance(A, Sparse) else f"a {type(A).__name__}"
        raise InputError("A", found, "a square matrix of rooftile.sparse")
    if not number("tolerance", tolerance) > 0:
        raise InputError("tolerance", repr(tolerance), "a number above 0")
    if preconditioner is not None:
        check_word("preconditioner", preconditioner, ("jacobi",))
    if limit is not None and (not is_whole(limit) or limit < 0):
        raise InputError("limit", repr(limit), "a whole number of at least 0, or None")
    return np.dtype(np.float64 if A.dtype == np.float64 else np.float32)


def _inverse(A: Sparse, kind: np.dtype[Any]) -> AnyArray:
    diagonal = A.diagonal()
    missing = np.flatnonzero(diagonal == 0)
    if missing.size:
        place = f"A[{missing[0]}, {missing[0]}]"
        raise InputError(place, 0, "another number: preconditioner='jacobi' divides by it")
    return np.asarray(1 / diagonal.astype(kind), kind)


@last_kernels
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
