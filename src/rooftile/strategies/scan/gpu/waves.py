"""`waves`: a single pass of resident blocks, whose warps have a job each. Source: Merrill, Garland,
"Single-pass Parallel Prefix Scan with Decoupled Look-back" (NVIDIA NVR-2016-002, 2016), for what is
published; warps with jobs as in CUB's scan for Blackwell (NVIDIA CCCL 3.3, 2026)."""

from __future__ import annotations

from rooftile.analysis.accesses import Counted, beside, stored_beside
from rooftile.analysis.cooperation import vector_scan
from rooftile.ops.features import features
from rooftile.ops.patterns.scan import Scan
from rooftile.strategies.common.grid import blocks, wide
from rooftile.strategies.common.waves import LEAST_ARCHITECTURE, Waves
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.scan.gpu._base import itemsize
from rooftile.strategies.scan.gpu._tiles import TileScan

_WIDTH = 4
_KEPT = 32
"""Bytes of a stage's barriers."""


class ScanWaves(TileScan):
    """Takes one line of numbers of 32 bits, by an operator that commutes.

    Its blocks wait for each other, so it is launched as a whole or not at all.
    """

    name = "waves"
    summary = "resident blocks whose warps load, sum, look up and store different tiles"
    takes = features("axis dtype:int32 exclusive operator:* reverse")
    least_architecture = LEAST_ARCHITECTURE
    tunables = (
        Tunable("THREADS", (64, 128, 256), 128),
        Tunable("ROWS", (1, 2, 4, 8), 8),
        Tunable("STAGES", (3, 4, 6, 8, 12), 6),
        Tunable("BLOCKS", (1, 2, 3), 2),
    )

    def limits(self, problem: Scan) -> str | None:
        if reason := super().limits(problem):
            return reason
        if problem.lines > 1:
            return f"{problem.lines} lines: it has one"
        sizes = {itemsize(problem), *(array.numpy.itemsize for array in problem.arrays)}
        if sizes != {4}:
            return "its numbers have 32 bits"
        return None

    def defaults(self, problem: Scan) -> dict[str, int]:
        """As many rows as shared memory has room for."""
        found = super().defaults(problem)
        fitting = (r for r in (8, 4, 2) if not self.invalid(problem, {**found, "ROWS": r}))
        return {**found, "ROWS": next(fitting, 1)}

    def invalid(self, problem: Scan, config: Config) -> str | None:
        return self.waves(problem, config).invalid()

    def waves(self, problem: Scan, config: Config) -> Waves:
        """The line's tiles; two numbers are kept for each warp of a stage."""
        tile = config["THREADS"] * config["ROWS"] * _WIDTH
        kept = config["STAGES"] * (_KEPT + config["THREADS"] // 32 * 8)
        return Waves(self.machine, config, blocks(problem.count, tile), 4 * tile, kept)

    def macros(self, problem: Scan, config: Config) -> dict[str, int | str]:
        every = self.waves(problem, config).all
        return {**super().macros(problem, config), "WIDTH": _WIDTH, "ALIGNED": 1, "ALL": every}

    def workspace(self, problem: Scan, config: Config) -> dict[str, int]:
        return {"states": 2 * self.waves(problem, config).tiles}

    def steps(self, problem: Scan, config: Config) -> tuple[Step, ...]:
        waves = self.waves(problem, config)
        numbers = wide(waves.tiles, problem.count)
        return waves.steps(self, "x", "y", "states", *numbers)

    def accesses(self, problem: Scan, config: Config) -> Counted:
        """Every element once; of each wave every block reads all states."""
        x, y = problem.arrays
        waves = self.waves(problem, config)
        made = beside(x.size, x.numpy.itemsize, _WIDTH) + stored_beside(y.size, y.numpy.itemsize)
        made += vector_scan(x.size, _WIDTH, config["ROWS"], config["THREADS"] // 32)
        return {self.kernel("clear"): waves.zeros, self.kernel(): made + waves.looked_up}


STRATEGY = ScanWaves()
