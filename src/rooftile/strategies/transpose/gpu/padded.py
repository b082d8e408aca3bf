"""`padded`: the tile's rows are one element longer, so that no banks collide.

Source: Ruetsch, Micikevicius, "Optimizing Matrix Transpose in CUDA" (NVIDIA, 2009).
"""

from __future__ import annotations

from rooftile.strategies.transpose.gpu.tiled import Tiled


class Padded(Tiled):
    """Takes matrices, and batches of them."""

    name = family = "padded"
    summary = "a tile in shared memory, each element of a column in another bank"
    padding = 1


STRATEGY = Padded()
