"""The histogram of an image, and the levels that it gives. Source: PMPP, section 9.4; Podlozhnyuk,
"Histogram calculation in CUDA" (NVIDIA, 2007), for bins of few threads."""

from __future__ import annotations

from rooftile.analysis.accesses import WARP
from rooftile.strategies.contract.gpu import Tunable
from rooftile.strategies.equalize.gpu._base import BLOCK, GpuEqualize, PersistentEqualize


class Naive(GpuEqualize):
    """Takes every picture that a grid covers."""

    name = "naive"
    summary = "a thread a pixel, in double precision, every pixel an atomic in global memory"


class Privatised(PersistentEqualize):
    """Takes every picture."""

    name = "privatised"
    summary = "a block's own bins and table in shared memory, sums of hundredths"
    tunables = (BLOCK, Tunable("BLOCKS", (1, 2, 4, 8), 8))


class Vectors(PersistentEqualize):
    """Takes every picture."""

    name = "vectors"
    summary = "sixteen pixels a thread, bins and table in a bank of each lane's own"
    tunables = (Tunable("BLOCK", (128, 256, 512, 1024), 512), Tunable("BLOCKS", (1, 2, 4), 4))
    run = 16

    def copies(self) -> int:
        """See `PersistentEqualize.copies`: a lane's own."""
        return WARP


STRATEGIES = (Naive(), Privatised(), Vectors())
