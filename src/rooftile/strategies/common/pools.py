"""Macros of operations on the windows of a max-pool or an average."""

from __future__ import annotations

from rooftile.ops.gradients.pool2d_gradient import Pool2dGradient
from rooftile.ops.gradients.pool2d_winners import Pool2dWinners


def window_macros(problem: Pool2dGradient | Pool2dWinners) -> dict[str, int | str]:
    """The image's sizes, the pool's, and how many windows there are."""
    pool, (rows, columns) = problem.pool, problem.output_size
    return {
        "HEIGHT": problem.height,
        "WIDTH": problem.width,
        "ROWS": rows,
        "COLUMNS": columns,
        "WINDOW_HEIGHT": pool.window[0],
        "WINDOW_WIDTH": pool.window[1],
        "STRIDE_Y": pool.stride[0],
        "STRIDE_X": pool.stride[1],
    }
