"""`vectors`: the same accumulators, the segments shared out over the cores."""

from __future__ import annotations

from rooftile.strategies.reduce.cpu.accumulators import Accumulators


class Vectors(Accumulators):
    """Takes every problem whose elements may be combined in any order."""

    name = "vectors"
    parallel = True
    summary = "segments over the cores, vectors of accumulators in each"


STRATEGY = Vectors()
