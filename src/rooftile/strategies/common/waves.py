"""Resident blocks that go through tiles in waves (``common/waves.h``): their launch and room."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rooftile.analysis.accesses import Accesses, beside, stored_beside
from rooftile.devices.gpu import Launch
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config, GpuStrategy, Step
from rooftile.strategies.contract.machine import Multiprocessors

LEAST_ARCHITECTURE = 90
"""Compute capability, times ten, from which on there are bulk copies."""
_CLEARING = 256
"""Threads of a block that clears states."""


@dataclass(frozen=True)
class Waves:
    """Tiles, of equal numbers of bytes, by a config's blocks of a machine.

    A block has ``kept`` bytes of shared memory besides, and ``others`` warps that neither sum nor
    store.
    """

    machine: Multiprocessors
    config: Config
    tiles: int
    tile_bytes: int
    kept: int
    others: int = 3

    @property
    def all(self) -> int:
        """Blocks, which are all resident."""
        return self.config["BLOCKS"] * self.machine.multiprocessors

    @property
    def shared_bytes(self) -> int:
        """A block's dynamic shared memory: its stages."""
        return self.config["STAGES"] * self.tile_bytes

    def invalid(self) -> str | None:
        bytes_ = self.shared_bytes + self.kept
        if bytes_ > self.machine.shared_room(self.config["BLOCKS"]):
            return f"{bytes_} bytes of shared memory a block"
        return None

    def steps(self, rung: GpuStrategy, *arguments: str | np.int64) -> tuple[Step, ...]:
        """States are cleared; then a kernel takes ``arguments``, of which it is launched whole."""
        clear = Launch(
            rung.kernel("clear"), (blocks(self.tiles, _CLEARING), 1, 1), (_CLEARING, 1, 1)
        )
        block = (2 * self.config["THREADS"] + 32 * self.others, 1, 1)
        go = Launch(rung.kernel(), (self.all, 1, 1), block, self.shared_bytes, cooperative=True)
        return Step(clear, ("states", np.int64(self.tiles))), Step(go, arguments)

    @property
    def zeros(self) -> Accesses:
        """The stores of clearing states."""
        return stored_beside(self.tiles, 8)

    @property
    def looked_up(self) -> Accesses:
        """The accesses of blocks to states: each reads all tiles' states."""
        return beside(self.tiles * self.all, 8) + stored_beside(self.tiles, 8)
