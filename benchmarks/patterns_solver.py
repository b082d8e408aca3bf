"""Conjugate gradients on a GPU, beside CuPy's: iterations, time, and the residual that is left."""

from __future__ import annotations

import inspect
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
from patterns_matrices import poisson
from patterns_rows import Record, Watch

import rooftile

TOLERANCE = 1e-6
_SIDE = 2048
_STEPS = 300
_RUNS = 1


def measured(bench: Any, watch: Watch) -> Iterator[list[Record]]:
    """Who solves the grid's equations."""
    found: list[Record] = []
    side = 32 if bench.device is None else _SIDE
    # In float32 the true residual ends above the tolerance, whoever solves.
    grid, generator = poisson(side, "float64"), torch.Generator().manual_seed(0)
    b = torch.randn(side * side, generator=generator, dtype=torch.float64)
    for name, solve in _solvers(grid, b.to(bench.place)):
        if watch.left_s < 0:
            return
        one = {"who": name, "dtype": "float64", "side": side, **_timed(grid, b, solve, bench)}
        found.append(one)
        print(one, flush=True)
        yield found


def _timed(grid: Any, b: Any, solve: Callable[[], tuple[Any, int]], bench: Any) -> Record:
    """The seconds of some runs; the true residual, of which all have the same definition."""
    seconds = []
    try:
        solve()
        for _ in range(_RUNS):
            _wait(bench)
            start = time.perf_counter()
            x, iterations = solve()
            _wait(bench)
            seconds.append(time.perf_counter() - start)
    except Exception as error:
        return {"reason": f"{type(error).__name__}: {error}"[:300]}
    wide = torch.as_tensor(x).double().cpu().numpy()
    exact = rooftile.Sparse(
        grid.shape,
        "dia",
        {**grid.arrays, "values": grid.arrays["values"].astype("float64")},
        grid.nnz,
    )
    left = b.double().numpy() - rooftile.spmv(exact, wide)
    norms = [float((one * one).sum()) ** 0.5 for one in (left, b.double().numpy())]
    return {
        "seconds": statistics.median(seconds),
        "runs": seconds,
        "iterations": iterations,
        "residual": norms[0] / norms[1],
    }


def _solvers(grid: Any, b: Any) -> Iterator[tuple[str, Callable[[], tuple[Any, int]]]]:
    def ours(preconditioner: Any, limit: int | None = None) -> tuple[Any, int]:
        found = rooftile.cg(grid, b, TOLERANCE, preconditioner=preconditioner, limit=limit)
        return found.x, found.iterations

    if not b.is_cuda:
        yield "rooftile", lambda: _on_the_host(grid, b)
        return
    yield "rooftile", lambda: ours(None)
    yield "rooftile, Jacobi", lambda: ours("jacobi")
    # CuPy takes thousands of steps of the same kind: some of them tell how long one takes.
    yield f"rooftile, {_STEPS} steps", lambda: ours(None, _STEPS)
    try:
        yield f"CuPy, {_STEPS} steps", _cupy_solver(grid, b)
    except Exception as error:
        print(f"CuPy: {type(error).__name__}: {error}", flush=True)


def _on_the_host(grid: Any, b: Any) -> tuple[Any, int]:
    found = rooftile.cg(grid, b.numpy(), TOLERANCE)
    return torch.from_numpy(found.x), found.iterations


def _cupy_solver(grid: Any, b: Any) -> Callable[[], tuple[Any, int]]:
    import cupy
    import cupyx.scipy.sparse
    from cupyx.scipy.sparse.linalg import cg

    matrix = cupyx.scipy.sparse.csr_matrix(grid.to("csr").to_scipy())
    right = cupy.asarray(b)
    name = "rtol" if "rtol" in inspect.signature(cg).parameters else "tol"

    def solve() -> tuple[Any, int]:
        x, _ = cg(matrix, right, **{name: TOLERANCE, "maxiter": _STEPS})
        return torch.as_tensor(x, device="cuda"), _STEPS

    return solve


def _wait(bench: Any) -> None:
    if bench.device is not None:
        torch.cuda.synchronize()
