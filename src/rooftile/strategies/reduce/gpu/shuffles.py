"""Rung 6, `shuffles`: the threads of a warp exchange registers.

Source: Luitjens, "Faster Parallel Reductions on Kepler" (NVIDIA, 2014).
"""

from __future__ import annotations

from rooftile.strategies.reduce.gpu.coarsened import Coarsened


class Shuffles(Coarsened):
    """Results are the same in every run."""

    name = "shuffles"
    order = 6
    devices = ("cuda",)
    summary = "warps join their registers by shuffles, one barrier a block"


STRATEGY = Shuffles()
