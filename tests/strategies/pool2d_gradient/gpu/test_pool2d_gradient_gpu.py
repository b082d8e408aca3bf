"""Every GPU rung of `pool2d_gradient`."""

from __future__ import annotations

from rooftile.ops import Pool
from rooftile.ops.gradients.pool2d_gradient import Pool2dGradient
from tests.support.every_rung import Wrong
from tests.support.gradient_rungs import EveryGpuRung

POOL = Pool.of("max", 2)


class TestRungs(EveryGpuRung):
    problems = (
        Pool2dGradient(1, 2, 9, 17, Pool.of("max", 3, 2)),
        Pool2dGradient(2, 2, 10, 13, Pool.of("average", (2, 3), (3, 4))),
        Pool2dGradient(2, 3, 9, 11, POOL),
    )
    near = (Pool2dGradient(2, 3, 9, 11, POOL),)
    compiled = (Pool2dGradient(64, 16, 34, 34, Pool.of("max", 4)),)
    wrong = Wrong(
        Pool2dGradient(2, 3, 9, 11, POOL),
        ("naive", "r < ROWS && r * STRIDE_Y <= i", "r < ROWS && r * STRIDE_Y < i"),
        ("cells", "gets ? gradient : 0.0f", "gradient"),
    )
