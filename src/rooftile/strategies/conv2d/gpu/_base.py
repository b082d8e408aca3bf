"""What the GPU strategies of `conv2d` share: the macros that stand for the problem."""

from __future__ import annotations

from rooftile.ops import Conv2d
from rooftile.ops.features import features
from rooftile.strategies.common.fused import ACTIVATION_CODES, POOL_CODES
from rooftile.strategies.common.grid import MOST_BLOCKS, beyond_block, blocks
from rooftile.strategies.common.weights import WeightedGpuStrategy
from rooftile.strategies.contract.gpu import Config
from rooftile.strategies.conv2d.ends import BOUNDARY_CODES

__all__ = ["MOST_BLOCKS", "GpuConv2d", "beyond_block", "blocks", "sizes"]


class GpuConv2d(WeightedGpuStrategy):
    """A GPU strategy of `conv2d`; takes every problem unless it says otherwise."""

    operation = "conv2d"
    takes = features(
        "activation:* boundary:interior,replicate padding pool.activation:* "
        "pool:average,l2,max stride"
    )

    def macros(self, problem: Conv2d, config: Config) -> dict[str, int | str]:
        """The problem's sizes and the tunables."""
        return {**sizes(problem), **config}


def sizes(problem: Conv2d) -> dict[str, int]:
    """The problem's numbers, and its activation's, by the texts' names."""
    pool = problem.pool
    window, stride = (pool.window, pool.stride) if pool else ((1, 1), (1, 1))
    return {
        "CHANNELS": problem.channels,
        "HEIGHT": problem.height,
        "WIDTH": problem.width,
        "MAPS": problem.maps,
        "MASK_HEIGHT": problem.mask[0],
        "MASK_WIDTH": problem.mask[1],
        "STRIDE_Y": problem.stride[0],
        "STRIDE_X": problem.stride[1],
        "PAD_Y": problem.padding[0],
        "PAD_X": problem.padding[1],
        "CONV_ROWS": problem.conv_span[0],
        "CONV_COLUMNS": problem.conv_span[1],
        "ROWS": problem.output_size[0],
        "COLUMNS": problem.output_size[1],
        "POOL_HEIGHT": window[0],
        "POOL_WIDTH": window[1],
        "POOL_STRIDE_Y": stride[0],
        "POOL_STRIDE_X": stride[1],
        "POOL_KIND": POOL_CODES[pool.kind if pool else "max"],
        "POOL_ACTIVATION": ACTIVATION_CODES[pool.activation if pool else "none"],
        "ACTIVATION": ACTIVATION_CODES[problem.activation],
        "BOUNDARY": BOUNDARY_CODES[problem.ghosts],
    }
