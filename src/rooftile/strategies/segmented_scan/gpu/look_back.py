"""Rung 3, `look_back`: a single pass, tiles look back no further than a segment's beginning.

Source: Merrill, Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back" (NVIDIA
NVR-2016-002, 2016); Sengupta, Harris, Zhang, Owens, "Scan Primitives for GPU Computing" (Graphics
Hardware 2007).
"""

from __future__ import annotations

import numpy as np

from rooftile.devices.gpu import Launch
from rooftile.ops.segmented_scan import SegmentedScan
from rooftile.strategies.common.grid import beyond_block, blocks
from rooftile.strategies.common.operators import CARRIED_BYTES
from rooftile.strategies.gpu import Config, Step, Tunable
from rooftile.strategies.segmented_scan.gpu._base import GpuSegmentedScan

_WARP = 32
_FINDING = 128
"""Threads of a block that finds the tiles' first offsets, or clears states."""
_VECTOR_BYTES = 16


class LookBack(GpuSegmentedScan):
    """Takes every associative operator; for CUDA, as `scan`'s rung of this name."""

    name = "look_back"
    order = 3
    devices = ("cuda",)
    summary = "a single pass, tiles look back no further than a segment's beginning"
    tunables = (
        Tunable("THREADS", (128, 256, 384, 512), 256),
        Tunable("ROWS", (1, 2, 4, 6, 8), 6),
        Tunable("LOOK", (1, 2, 4, 8), 2),
        Tunable("BLOCKS", (1, 2, 3, 4, 6, 8), 2),
    )

    def defaults(self, problem: SegmentedScan) -> dict[str, int]:
        """As many rows as registers hold."""
        bytes_ = CARRIED_BYTES[problem.carried]
        rows = max(1, (96 if bytes_ == 4 else 64) // bytes_ // self.width(problem))
        return {**super().defaults(problem), "ROWS": rows}

    def width(self, problem: SegmentedScan) -> int:
        """Elements that a lane loads or stores at once."""
        x, _, y = problem.arrays
        return _VECTOR_BYTES // max(x.numpy.itemsize, y.numpy.itemsize)

    def macros(self, problem: SegmentedScan, config: Config) -> dict[str, int | str]:
        """Also the elements of a vector."""
        return {**super().macros(problem, config), "WIDTH": self.width(problem), "ALIGNED": 1}

    def invalid(self, problem: SegmentedScan, config: Config) -> str | None:
        """Too many threads."""
        return beyond_block(config["THREADS"])

    def tiles(self, problem: SegmentedScan, config: Config) -> int:
        """Tiles of all elements."""
        return blocks(problem.count, config["THREADS"] * config["ROWS"] * self.width(problem))

    def words(self, problem: SegmentedScan, config: Config) -> int:
        """Words of 64 bits of all states: each has 32 bits of a value."""
        macros = self.macros(problem, config)
        size = CARRIED_BYTES[problem.carried] * (2 if macros["COMPENSATED"] else 1)
        return (self.tiles(problem, config) + _WARP * config["LOOK"]) * blocks(size, 4)

    def workspace(self, problem: SegmentedScan, config: Config) -> dict[str, int]:
        """The tiles' first offsets, states, and the counter of tiles."""
        firsts = 2 * (self.tiles(problem, config) + 1)
        return {"firsts": firsts, "states": 2 * self.words(problem, config), "tickets": 1}

    def steps(self, problem: SegmentedScan, config: Config) -> tuple[Step, ...]:
        """Tiles find their offsets, states are cleared, then tiles are scanned."""
        words, tiles = self.words(problem, config), self.tiles(problem, config)
        find = Launch("find_firsts", (blocks(tiles + 1, _FINDING), 1, 1), (_FINDING, 1, 1))
        clearing = min(blocks(words, _FINDING), 4 * self.machine.multiprocessors)
        clear = Launch("clear", (clearing, 1, 1), (_FINDING, 1, 1))
        scan = Launch("scan_segments", (tiles, 1, 1), (config["THREADS"], 1, 1))
        found = ("offsets", "firsts", np.int64(tiles), np.int64(problem.segments))
        given = ("x", "offsets", "y", "firsts", "states", "tickets", np.int64(problem.count))
        return (
            Step(find, found),
            Step(clear, ("states", "tickets", np.int64(words))),
            Step(scan, given),
        )


STRATEGY = LookBack()
