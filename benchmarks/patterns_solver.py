"""Conjugate gradients on a GPU, beside CuPy's: iterations, time, and the residual that is left."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
from patterns_matrices import poisson
from patterns_rows import Record, Watch

import rooftile

Solver = Callable[[int], tuple[Any, int]]
"""Solves in so many steps at most; the solution, and its steps."""
TOLERANCE = 1e-6
_SIDE = 2048
_MOST_STEPS = 6000
"""Who has not converged then stops."""
_WARM_UP = 64
"""Steps before the run that counts."""


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
        one = {"who": name, "dtype": "float64", "side": side, **_timed(side, b, solve, bench)}
        found.append(one)
        print(one, flush=True)
        yield found


def _timed(side: int, b: Any, solve: Solver, bench: Any) -> Record:
    """The seconds of a run; the true residual, of which all have the same definition."""
    try:
        solve(_WARM_UP)
        _wait(bench)
        start = time.perf_counter()
        x, iterations = solve(_MOST_STEPS)
        _wait(bench)
        seconds = time.perf_counter() - start
    except Exception as error:
        return {"reason": f"{type(error).__name__}: {error}"[:300]}
    residual = float((b - _product(torch.as_tensor(x).cpu(), side)).norm() / b.norm())
    return {"seconds": seconds, "iterations": iterations, "residual": residual}


def _product(x: Any, side: int) -> Any:
    """What Poisson's matrix makes of x, without anybody's sparse product."""
    grid = x.double().reshape(side, side)
    made = 4 * grid
    made[1:] -= grid[:-1]
    made[:-1] -= grid[1:]
    made[:, 1:] -= grid[:, :-1]
    made[:, :-1] -= grid[:, 1:]
    return made.reshape(-1)


def _solvers(grid: Any, b: Any) -> Iterator[tuple[str, Solver]]:
    def ours(preconditioner: Any, limit: int) -> tuple[Any, int]:
        found = rooftile.cg(grid, b, TOLERANCE, preconditioner=preconditioner, limit=limit)
        return found.x, found.iterations

    if not b.is_cuda:
        yield "rooftile", partial(_on_the_host, grid, b)
        return
    yield "rooftile", partial(ours, None)
    yield "rooftile, Jacobi", partial(ours, "jacobi")
    try:
        yield "CuPy", _cupy_solver(grid, b)
    except Exception as error:
        print(f"CuPy: {type(error).__name__}: {error}", flush=True)


def _on_the_host(grid: Any, b: Any, limit: int) -> tuple[Any, int]:
    found = rooftile.cg(grid, b.numpy(), TOLERANCE, limit=limit)
    return torch.from_numpy(found.x), found.iterations


def _cupy_solver(grid: Any, b: Any) -> Solver:
    import cupy
    import cupyx.scipy.sparse
    from cupyx.scipy.sparse.linalg import cg

    arrays = grid.to("csr", device="cuda").arrays.values()
    matrix = cupyx.scipy.sparse.csr_matrix(tuple(map(cupy.asarray, arrays)), grid.shape)
    right = cupy.asarray(b)
    name = "rtol" if "rtol" in inspect.signature(cg).parameters else "tol"

    def solve(limit: int) -> tuple[Any, int]:
        steps = 0

        def count(_: Any) -> None:
            nonlocal steps
            steps += 1

        options = {name: TOLERANCE, "maxiter": limit, "callback": count}
        x, _ = cg(matrix, right, **options)
        return torch.as_tensor(x, device="cuda"), steps

    return solve


def _wait(bench: Any) -> None:
    if bench.device is not None:
        torch.cuda.synchronize()
