"""What tiles tell each other in a single pass (``common/states.h``): how much it is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rooftile.analysis.accesses import Accesses, stored_beside
from rooftile.analysis.cooperation import looking_back
from rooftile.devices.gpu import Launch
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import GpuStrategy, Step

_GROUP = 32
"""Tiles of a group, and groups that are looked back at."""
_CLEARING = 256
"""Threads of a block that clears states."""


@dataclass(frozen=True)
class States:
    """The states of so many tiles, with values of so many bytes."""

    tiles: int
    value_bytes: int

    @property
    def groups(self) -> int:
        """Groups of tiles."""
        return blocks(self.tiles, _GROUP)

    @property
    def words(self) -> int:
        """Words of 64 bits: each has 32 bits of a value."""
        return (_GROUP + self.groups + self.tiles) * blocks(self.value_bytes, 4)

    def workspace(self) -> dict[str, int]:
        """The states and the counter of tiles, in words of 32 bits."""
        return {"states": 2 * self.words, "tickets": 1}

    def cleared(self, rung: GpuStrategy) -> Step:
        """What clears both, for a rung."""
        grid = min(blocks(self.words, _CLEARING), 2 * rung.machine.multiprocessors)
        launch = Launch(rung.kernel("clear"), (grid, 1, 1), (_CLEARING, 1, 1))
        return Step(launch, ("states", "tickets", np.int64(self.words)))

    @property
    def zeros(self) -> Accesses:
        """What clearing them stores."""
        return stored_beside(self.words, 8)

    def looked_back(self, resident: int) -> Accesses:
        """What tiles do with them, so many of which are resident."""
        return looking_back(self.tiles, blocks(self.value_bytes, 4), resident)
