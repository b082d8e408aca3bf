"""The step of ``common/rounded.h``, for rungs that round their weights."""

from __future__ import annotations

from rooftile.devices.gpu import Launch
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.compiled import Step

THREADS = 256


def rounding(weights: str, rounded: str, count: int) -> Step:
    """Rounds so many weights of one array into another."""
    launch = Launch("round_weights", (blocks(count, THREADS), 1, 1), (THREADS, 1, 1))
    return Step(launch, (weights, rounded, count))
