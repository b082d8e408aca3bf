"""The base of the GPU strategies of `grayscale`."""

from __future__ import annotations

from rooftile.strategies.contract.gpu import GpuStrategy

MOST_BLOCKS_ACROSS = 2**31 - 1


class GpuGrayscale(GpuStrategy):
    """A GPU strategy of `grayscale`."""

    operation = "grayscale"
    wide_indices = True
