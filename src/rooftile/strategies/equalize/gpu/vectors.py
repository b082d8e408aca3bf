"""`vectors`: sixteen pixels a thread, bins and table once for each lane.

Source: Podlozhnyuk, "Histogram calculation in CUDA" (NVIDIA, 2007), for bins of few threads.
"""

from __future__ import annotations

from rooftile.analysis.accesses import WARP
from rooftile.strategies.contract.gpu import Tunable
from rooftile.strategies.equalize.gpu._base import PersistentEqualize


class Vectors(PersistentEqualize):
    """Takes every picture."""

    name = "vectors"
    summary = "sixteen pixels a thread, bins and table in a bank of each lane's own"
    tunables = (Tunable("BLOCK", (128, 256, 512, 1024), 512), Tunable("BLOCKS", (1, 2, 4), 4))
    run = 16

    def copies(self) -> int:
        """See `PersistentEqualize.copies`: a lane's own."""
        return WARP


STRATEGY = Vectors()
