"""Single passes whose tiles look back at those before them for how many elements they keep.

The texts share `compact/gpu/gather.h`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rooftile.devices.gpu import Launch
from rooftile.strategies.common.grid import beyond_block, blocks
from rooftile.strategies.gpu import Config, GpuStrategy, Step, Tunable

_WARP = 32
_VECTOR_BYTES = 16
_CLEARING = 256
"""Threads of a block that clears states."""
LOOKING = (
    Tunable("THREADS", (128, 256, 384, 512), 256),
    Tunable("ROWS", (2, 4, 6, 8), 8),
    Tunable("LOOK", (1, 2, 4, 8), 1),
    Tunable("BLOCKS", (1, 2, 3, 4, 6, 8), 4),
)


class TilesInOrder(GpuStrategy):
    """A GPU strategy with the tunables `LOOKING`, for problems with a ``count`` of elements."""

    devices = ("cuda",)
    wide_indices = True

    def itemsize(self, problem: Any) -> int:
        """Bytes of an element."""
        raise NotImplementedError

    def defaults(self, problem: Any) -> dict[str, int]:
        """Fewer rows of single bytes, of which a thread has sixteen in each, and of eight."""
        rows = {1: 4, 8: 6}.get(self.itemsize(problem), 8)
        return {**super().defaults(problem), "ROWS": rows}

    def invalid(self, problem: Any, config: Config) -> str | None:
        """A tile that shared memory does not hold."""
        shared = config["THREADS"] * (config["ROWS"] * _VECTOR_BYTES + 1)
        return beyond_block(config["THREADS"], shared)

    def tiles(self, problem: Any, config: Config) -> int:
        """Tiles, a block each."""
        width = _VECTOR_BYTES // self.itemsize(problem)
        return blocks(problem.count, config["THREADS"] * config["ROWS"] * width)

    def states(self, problem: Any, config: Config) -> int:
        """Those of all tiles, and a window before the first."""
        return _WARP * config["LOOK"] + self.tiles(problem, config)

    def workspace(self, problem: Any, config: Config) -> dict[str, int]:
        """The states, of 64 bits, and the counter of tiles."""
        return {"states": 2 * self.states(problem, config), "tickets": 1}

    def launches(self, problem: Any, config: Config, kernel: str) -> tuple[Step, Launch]:
        """What clears the states, and the launch over tiles."""
        words = self.states(problem, config)
        clearing = min(blocks(words, _CLEARING), 2 * self.machine.multiprocessors)
        clear = Launch("clear", (clearing, 1, 1), (_CLEARING, 1, 1))
        tiles = Launch(kernel, (self.tiles(problem, config), 1, 1), (config["THREADS"], 1, 1))
        return Step(clear, ("states", "tickets", np.int64(words))), tiles
