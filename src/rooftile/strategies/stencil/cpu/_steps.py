"""One step after the other, each on the grid that the one before left."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from rooftile._locks import lock
from rooftile.devices import cpu
from rooftile.ops import Float32
from rooftile.ops.patterns.stencil import Stencil

Step = Callable[[Float32, Float32], object]
"""``step(x, out)`` on flat grids."""


class Steps:
    """All steps of a problem; calls from several threads take turns."""

    def __init__(
        self, problem: Stencil, coefficients: Float32, make: Callable[[Stencil, Float32], Step]
    ) -> None:
        """``make`` gives the step of a problem of one step, with coefficients in memory of ours."""
        self._coefficients = cpu.allocate(problem.points, "coefficients")
        self._coefficients[:] = coefficients
        self._ones = single_steps(problem)
        made = {one: make(one, self._coefficients) for one in self._ones}
        self._steps = [made[one] for one in self._ones]
        self._turn = lock()
        counts = [math.prod(one.output_shape) for one in self._ones[:-1]]
        self._between = (len(counts[:2]), max(counts, default=0))
        """Grids between two steps, which take turns, and float32 of each."""

    def renew(self, parameters: Sequence[Float32]) -> None:
        self._coefficients[:] = parameters[0]

    def __call__(self, x: Float32, out: Float32) -> None:
        grid, last = x.reshape(-1), len(self._steps) - 1
        with (
            self._turn,
            cpu.lent(self._between, np.dtype(np.float32), "grids between two steps") as between,
        ):
            for number, (one, step) in enumerate(zip(self._ones, self._steps, strict=True)):
                to = out.reshape(-1)
                if number < last:
                    to = between[number % 2][: math.prod(one.output_shape)]
                step(grid, to)
                grid = to


def single_steps(problem: Stencil) -> list[Stencil]:
    """The problem of each step, which may be of fewer cells than the one before."""
    found, shape = [], problem.shape
    for _ in range(problem.steps):
        found.append(Stencil(shape, problem.points, 1, problem.boundary))
        shape = found[-1].output_shape
    return found


def between_steps(problem: Stencil) -> dict[str, int]:
    """Bytes of the grids that one step writes and the next one reads."""
    grids = [4 * math.prod(one.output_shape) for one in single_steps(problem)[:-1]]
    return {"the grids between the steps": sum(grids)} if grids else {}


def lead(problem: Stencil) -> tuple[int, ...]:
    """The distance from a box's first cell to its result's own index, along planes, rows and
    columns."""
    return tuple(size // 2 if problem.boundary == "zero" else 0 for size in problem.mask)
