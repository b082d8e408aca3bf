"""Rung 3, `compacted`: the tree of neighbours, by the first threads of the block.

Source: Harris, "Optimizing Parallel Reduction in CUDA" (NVIDIA, 2007), reduction 2.
"""

from __future__ import annotations

from rooftile.strategies.reduce.gpu._base import TiledReduce


class Compacted(TiledReduce):
    """Neighbours are combined, and never out of order."""

    name = "compacted"
    order = 3
    reorders = False
    summary = "the same tree by the first threads: no divergence, but bank conflicts"


STRATEGY = Compacted()
