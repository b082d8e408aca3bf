"""`look_back`: a single pass, tiles look back no further than a segment's beginning.

Source: Merrill, Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back" (NVIDIA
NVR-2016-002, 2016); Sengupta, Harris, Zhang, Owens, "Scan Primitives for GPU Computing" (Graphics
Hardware 2007).
"""

from __future__ import annotations

from rooftile.analysis.accesses import (
    WARP,
    Accesses,
    Counted,
    beside,
    stored_beside,
)
from rooftile.analysis.cooperation import vector_scan
from rooftile.devices.gpu import Launch
from rooftile.ops.patterns.segmented_scan import SegmentedScan
from rooftile.strategies.common.grid import beyond_block, blocks, wide
from rooftile.strategies.common.operators import CARRIED_BYTES
from rooftile.strategies.common.states import States
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.segmented_scan.gpu.segments import GpuSegmentedScan, finding, found

_VECTOR_BYTES = 16


class LookBack(GpuSegmentedScan):
    """Takes every associative operator; for CUDA, as `scan`'s rung of this name."""

    name = "look_back"
    devices = ("cuda",)
    summary = "a single pass, tiles look back no further than a segment's beginning"
    tunables = (
        Tunable("THREADS", (128, 256, 384, 512), 256),
        Tunable("ROWS", (1, 2, 4, 6, 8), 6),
        Tunable("BLOCKS", (1, 2, 3, 4, 6, 8), 4),
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
        return {**super().macros(problem, config), "WIDTH": self.width(problem), "ALIGNED": 1}

    def invalid(self, problem: SegmentedScan, config: Config) -> str | None:
        return beyond_block(config["THREADS"])

    def tiles(self, problem: SegmentedScan, config: Config) -> int:
        """Tiles of all elements."""
        return blocks(problem.count, config["THREADS"] * config["ROWS"] * self.width(problem))

    def states(self, problem: SegmentedScan, config: Config) -> States:
        compensated = self.macros(problem, config)["COMPENSATED"]
        size = CARRIED_BYTES[problem.carried] * (2 if compensated else 1)
        return States(self.tiles(problem, config), size)

    def workspace(self, problem: SegmentedScan, config: Config) -> dict[str, int]:
        states = self.states(problem, config)
        return {"firsts": 2 * (states.tiles + 1), **states.workspace()}

    def steps(self, problem: SegmentedScan, config: Config) -> tuple[Step, ...]:
        states = self.states(problem, config)
        tiles = states.tiles
        scan = Launch(self.kernel(), (tiles, 1, 1), (config["THREADS"], 1, 1))
        numbers = wide(states.groups, problem.count)
        return (
            finding(self, problem, tiles),
            states.cleared(self),
            Step(scan, ("x", "offsets", "y", "firsts", "states", "tickets", *numbers)),
        )

    def accesses(self, problem: SegmentedScan, config: Config) -> Counted:
        """Every element and every offset once; bits of a tile's beginnings in shared memory."""
        x, offsets, y = problem.arrays
        states, width = self.states(problem, config), self.width(problem)
        made = beside(x.size, x.numpy.itemsize, width) + stored_beside(y.size, y.numpy.itemsize)
        made += beside(problem.segments, offsets.numpy.itemsize)
        made += Accesses(shared_reads=2 * x.size / width / WARP)
        made += vector_scan(x.size, width, config["ROWS"], config["THREADS"] // 32)
        made += states.looked_back(self.machine.multiprocessors * config["BLOCKS"])
        return {
            self.kernel("find_firsts"): found(problem, states.tiles),
            self.kernel("clear"): states.zeros,
            self.kernel(): made,
        }


STRATEGY = LookBack()
