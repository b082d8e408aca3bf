"""Every GPU rung of `pool2d_winners`."""

from __future__ import annotations

from rooftile.ops import Pool
from rooftile.ops.gradients.pool2d_winners import Pool2dWinners
from tests.support.every_rung import Wrong
from tests.support.gradient_rungs import EveryGpuRung

POOL = Pool.of("max", 2)


class TestRungs(EveryGpuRung):
    problems = (
        Pool2dWinners(2, 3, 9, 12, POOL),
        Pool2dWinners(2, 3, 9, 72, Pool.of("max", (2, 3), (3, 4))),
    )
    near = (Pool2dWinners(2, 3, 9, 12, POOL),)
    compiled = (Pool2dWinners(64, 16, 34, 36, Pool.of("max", 4)),)
    wrong = Wrong(
        Pool2dWinners(2, 3, 9, 12, POOL),
        ("naive", "here = first + a * WIDTH + b", "here = first + a * WIDTH + (b & ~1)"),
        ("vector_rows", "first + n * STRIDE_X + a * WIDTH + b", "first + n * STRIDE_X + a * WIDTH"),
    )
