"""Traffic of tiles' states in a single pass (``common/states.h``)."""

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
    """The states of ``tiles`` tiles, with values of ``nbytes`` bytes."""

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
        return {"states": 2 * self.words, "tickets": 1}

    def cleared(self, rung: GpuStrategy) -> Step:
        """The step that clears both, for a rung."""
        grid = min(blocks(self.words, _CLEARING), 2 * rung.machine.multiprocessors)
        launch = Launch(rung.kernel("clear"), (grid, 1, 1), (_CLEARING, 1, 1))
        return Step(launch, ("states", "tickets", np.int64(self.words)))

    @property
    def zeros(self) -> Accesses:
        """The stores of clearing them."""
        return stored_beside(self.words, 8)

    def looked_back(self, resident: int) -> Accesses:
        """The accesses of tiles to them, ``resident`` tiles at a time."""
        return looking_back(self.tiles, blocks(self.value_bytes, 4), resident)
