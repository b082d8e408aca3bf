"""`privatised`: a block has bins of its own in shared memory.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., section 9.4.
"""

from __future__ import annotations

from rooftile.ops.patterns.histogram import Histogram
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.histogram.gpu._shared import SharedHistogram


class Privatised(SharedHistogram):
    """As many bins as shared memory holds."""

    name = "privatised"
    summary = "a block's own bins in shared memory, added up at its end"
    tunables = (Tunable("BLOCK", (128, 256, 512, 1024), 512), Tunable("BLOCKS", (1, 2, 4), 2))

    def steps(self, problem: Histogram, config: Config) -> tuple[Step, ...]:
        return self.in_shared(problem, config)


STRATEGY = Privatised()
