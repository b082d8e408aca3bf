"""`waves`: a single pass of resident blocks, whose warps have a job each. Sources: as of
`look_back`, and of `scan`'s rung of this name."""

from __future__ import annotations

from rooftile.analysis.accesses import WARP, Accesses, Counted, beside, stored_beside
from rooftile.analysis.cooperation import vector_scan
from rooftile.ops.features import features
from rooftile.ops.patterns.segmented_scan import SegmentedScan
from rooftile.strategies.common.grid import blocks, wide
from rooftile.strategies.common.operators import CARRIED_BYTES
from rooftile.strategies.common.waves import LEAST_ARCHITECTURE, Waves
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.segmented_scan.gpu.segments import GpuSegmentedScan, finding, found

_WIDTH = 4
_KEPT = 32
"""Bytes of a stage's barriers."""
_OTHERS = 5
"""Warps that neither sum nor store."""


class SegmentedWaves(GpuSegmentedScan):
    """Takes numbers of 32 bits, by an operator that commutes; launched as a whole, as `scan`'s."""

    name = "waves"
    devices = ("cuda",)
    summary = "resident blocks whose warps load, mark, sum, look up and store different tiles"
    takes = features("dtype:int32 exclusive index:int32 operator:*")
    least_architecture = LEAST_ARCHITECTURE
    tunables = (
        Tunable("THREADS", (64, 128, 256), 256),
        Tunable("ROWS", (1, 2, 4, 6, 8), 6),
        Tunable("STAGES", (3, 4, 6, 8, 12), 8),
        Tunable("BLOCKS", (1, 2, 3), 1),
    )

    def limits(self, problem: SegmentedScan) -> str | None:
        if reason := super().limits(problem):
            return reason
        x, _, y = problem.arrays
        if {CARRIED_BYTES[problem.carried], x.numpy.itemsize, y.numpy.itemsize} != {4}:
            return "its numbers have 32 bits"
        return self.unfit(problem)

    def defaults(self, problem: SegmentedScan) -> dict[str, int]:
        """As many rows as shared memory has room for."""
        made = super().defaults(problem)
        fitting = (r for r in (6, 4, 2) if not self.invalid(problem, {**made, "ROWS": r}))
        return {**made, "ROWS": next(fitting, 1)}

    def invalid(self, problem: SegmentedScan, config: Config) -> str | None:
        return self.waves(problem, config).invalid()

    def waves(self, problem: SegmentedScan, config: Config) -> Waves:
        """The tiles; a bit is kept for each element of a stage, three numbers for each warp."""
        tile = config["THREADS"] * config["ROWS"] * _WIDTH
        kept = config["STAGES"] * (_KEPT + tile // 8 + config["THREADS"] // 32 * 12)
        tiles = blocks(problem.count, tile)
        return Waves(self.machine, config, tiles, 4 * tile, kept, _OTHERS)

    def macros(self, problem: SegmentedScan, config: Config) -> dict[str, int | str]:
        every = self.waves(problem, config).all
        return {**super().macros(problem, config), "WIDTH": _WIDTH, "ALIGNED": 1, "ALL": every}

    def workspace(self, problem: SegmentedScan, config: Config) -> dict[str, int]:
        tiles = self.waves(problem, config).tiles
        return {"firsts": 2 * (tiles + 1), "states": 2 * tiles}

    def steps(self, problem: SegmentedScan, config: Config) -> tuple[Step, ...]:
        waves = self.waves(problem, config)
        arrays = ("x", "offsets", "y", "firsts", "states")
        numbers = wide(waves.tiles, problem.count)
        find = finding(self, problem, waves.tiles)
        return (find, *waves.steps(self, *arrays, *numbers))

    def accesses(self, problem: SegmentedScan, config: Config) -> Counted:
        """Every element and every offset once; a tile's bits and elements twice from its stage."""
        x, offsets, y = problem.arrays
        waves = self.waves(problem, config)
        made = beside(x.size, x.numpy.itemsize, _WIDTH) + stored_beside(y.size, y.numpy.itemsize)
        made += beside(problem.segments, offsets.numpy.itemsize)
        made += Accesses(shared_reads=4 * x.size / _WIDTH / WARP)
        made += vector_scan(x.size, _WIDTH, config["ROWS"], config["THREADS"] // 32)
        return {
            self.kernel("find_firsts"): found(problem, waves.tiles),
            self.kernel("clear"): waves.zeros,
            self.kernel(): made + waves.looked_up,
        }


STRATEGY = SegmentedWaves()
