"""The base of the GPU strategies of `pool2d`: the macros of the problem."""

from __future__ import annotations

from rooftile.devices.gpu import Launch
from rooftile.ops import Pool2d
from rooftile.ops.features import features
from rooftile.strategies.common.fused import ACTIVATION_CODES, POOL_CODES
from rooftile.strategies.contract.gpu import Config, GpuStrategy, Step


class GpuPool2d(GpuStrategy):
    """A GPU strategy of `pool2d`; takes every problem unless it says otherwise."""

    operation = "pool2d"
    takes = features("bias pool.activation:*")

    def macros(self, problem: Pool2d, config: Config) -> dict[str, int | str]:
        pool, (rows, columns) = problem.pool, problem.output_shape[2:]
        return {
            "CHANNELS": problem.channels,
            "HEIGHT": problem.height,
            "WIDTH": problem.width,
            "ROWS": rows,
            "COLUMNS": columns,
            "POOL_HEIGHT": pool.window[0],
            "POOL_WIDTH": pool.window[1],
            "POOL_STRIDE_Y": pool.stride[0],
            "POOL_STRIDE_X": pool.stride[1],
            "POOL_KIND": POOL_CODES[pool.kind],
            "POOL_ACTIVATION": ACTIVATION_CODES[pool.activation],
            "BIASED": int(problem.bias),
            **config,
        }

    def one(self, problem: Pool2d, launch: Launch) -> tuple[Step, ...]:
        """The launch, with the parameters that the problem has."""
        return (Step(launch, ("x", *problem.parameter_shapes, "out", problem.batch)),)
