"""`privatised`: a block's own bins and its own table in shared memory.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., section 9.4.
"""

from __future__ import annotations

from rooftile.strategies.contract.gpu import Tunable
from rooftile.strategies.equalize.gpu._base import BLOCK, PersistentEqualize


class Privatised(PersistentEqualize):
    """Takes every picture."""

    name = "privatised"
    summary = "a block's own bins and table in shared memory, sums of hundredths"
    tunables = (BLOCK, Tunable("BLOCKS", (1, 2, 4, 8), 8))


STRATEGY = Privatised()
