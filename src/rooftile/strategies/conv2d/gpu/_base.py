"""The base of the GPU strategies of `conv2d`: the macros of the problem."""

from __future__ import annotations

from rooftile.ops import Conv2d
from rooftile.ops.features import features
from rooftile.strategies.common.grid import MOST_BLOCKS, beyond_block, blocks
from rooftile.strategies.common.weights import WeightedGpuStrategy
from rooftile.strategies.contract.gpu import Config
from rooftile.strategies.conv2d.sizes import sizes

__all__ = ["MOST_BLOCKS", "GpuConv2d", "beyond_block", "blocks"]


class GpuConv2d(WeightedGpuStrategy):
    """A GPU strategy of `conv2d`; takes every problem unless it says otherwise."""

    operation = "conv2d"
    takes = features(
        "activation:* boundary:interior,replicate padding pool.activation:* "
        "pool:average,l2,max stride"
    )

    def macros(self, problem: Conv2d, config: Config) -> dict[str, int | str]:
        return {**sizes(problem), **config}
