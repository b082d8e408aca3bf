"""The step of ``common/rounded.h``, for rungs that round their weights."""

from __future__ import annotations

from rooftile.devices.gpu import Launch
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import GpuStrategy, Step

THREADS = 256


def rounding(rung: GpuStrategy, weights: str, rounded: str, count: int) -> Step:
    """Rounds ``count`` weights of one array into another."""
    grid = (blocks(count, THREADS), 1, 1)
    launch = Launch(rung.kernel("round_weights"), grid, (THREADS, 1, 1), overlaps=True)
    return Step(launch, (weights, rounded, count))
