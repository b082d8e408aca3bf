"""Rung 5, `look_back`: a single pass, each tile looks back at those before it.

Source: Merrill, Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back" (NVIDIA
NVR-2016-002, 2016).
"""

from __future__ import annotations

import numpy as np

from rooftile.devices.gpu import Launch
from rooftile.ops.compact import Compact
from rooftile.strategies.common.grid import beyond_block, blocks
from rooftile.strategies.compact.gpu._base import GpuCompact
from rooftile.strategies.gpu import Config, Step, Tunable

_WARP = 32
_VECTOR_BYTES = 16
_CLEARING = 256
"""Threads of a block that clears states."""


class LookBack(GpuCompact):
    """Takes every problem.

    It is for CUDA: a tile waits for tiles that were begun before it, and OpenCL promises of no
    work-group that it goes on running.
    """

    name = "look_back"
    order = 5
    devices = ("cuda",)
    summary = "a single pass, tiles look back at how many those before them keep"
    tunables = (
        Tunable("THREADS", (128, 256, 384, 512), 256),
        Tunable("ROWS", (2, 4, 6, 8), 8),
        Tunable("LOOK", (1, 2, 4, 8), 4),
        Tunable("BLOCKS", (1, 2, 3, 4, 6, 8), 4),
    )

    def defaults(self, problem: Compact) -> dict[str, int]:
        """Of single bytes fewer rows: a thread has sixteen in each."""
        rows = 4 if problem.itemsize == 1 else 8
        return {**super().defaults(problem), "ROWS": rows}

    def invalid(self, problem: Compact, config: Config) -> str | None:
        """A tile that shared memory does not hold."""
        shared = config["THREADS"] * (config["ROWS"] * _VECTOR_BYTES + 1)
        return beyond_block(config["THREADS"], shared)

    def tiles(self, problem: Compact, config: Config) -> int:
        """Tiles, a block each."""
        width = _VECTOR_BYTES // problem.itemsize
        return blocks(problem.count, config["THREADS"] * config["ROWS"] * width)

    def workspace(self, problem: Compact, config: Config) -> dict[str, int]:
        """The states, of 64 bits, and the counter of tiles."""
        return {"states": 2 * self.states(problem, config), "tickets": 1}

    def states(self, problem: Compact, config: Config) -> int:
        """Those of all tiles, and a window before the first."""
        return _WARP * config["LOOK"] + self.tiles(problem, config)

    def steps(self, problem: Compact, config: Config) -> tuple[Step, ...]:
        """States are cleared, then tiles are compacted."""
        tiles = self.tiles(problem, config)
        words = self.states(problem, config)
        clearing = min(blocks(words, _CLEARING), 2 * self.machine.multiprocessors)
        clear = Launch("clear", (clearing, 1, 1), (_CLEARING, 1, 1))
        compact = Launch("compact_tiles", (tiles, 1, 1), (config["THREADS"], 1, 1))
        arrays = "x", "mask", "y", "kept", "states", "tickets"
        return (
            Step(clear, ("states", "tickets", np.int64(words))),
            Step(compact, (*arrays, np.int64(tiles), np.int64(problem.count))),
        )


STRATEGY = LookBack()
