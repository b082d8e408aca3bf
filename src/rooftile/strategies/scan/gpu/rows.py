"""`rows`: a line stays in registers; warps meet once between loading and storing it. Source: PMPP,
section 11.5; Sengupta, Harris, Garland, "Efficient Parallel Scan Algorithms for GPUs" (NVIDIA
NVR-2008-003)."""

from __future__ import annotations

from dataclasses import replace

from rooftile.analysis.accesses import Counted, beside, stored_beside
from rooftile.analysis.cooperation import vector_scan
from rooftile.devices.gpu import Launch
from rooftile.ops.patterns.scan import Scan
from rooftile.strategies.common.grid import beyond_block, blocks, tile_of, wide
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.scan.gpu._tiles import TileScan, rows, vector

_THREADS = 256
"""Threads of a block."""
_WORDS = 64
"""Words that a thread carries, where a line has as many."""


class ScannedRows(TileScan):
    """Takes every associative operator along the last axis."""

    name = "rows"
    summary = "a team of warps a line, its rows of vectors scanned in registers"
    tunables = (
        Tunable("TEAM", (32, 64, 128, 256, 512, 1024), 256),
        Tunable("LINES", (1, 2, 4, 8), 1),
        Tunable("ROWS", (1, 2, 4, 8, 16), 16),
    )

    def defaults(self, problem: Scan) -> dict[str, int]:
        """As many threads as a line occupies, as many lines as a block has threads for."""
        vectors = blocks(problem.count, vector(problem))
        deep = rows(problem, _WORDS)
        team = tile_of(blocks(vectors, deep), 32, _THREADS)
        deep = tile_of(blocks(vectors, team), 1, deep)
        return {"TEAM": team, "LINES": _THREADS // team, "ROWS": deep}

    def invalid(self, problem: Scan, config: Config) -> str | None:
        return beyond_block(config["TEAM"] * config["LINES"])

    def blocks(self, problem: Scan, config: Config) -> int:
        """Blocks of lines."""
        return blocks(problem.lines, config["LINES"])

    def steps(self, problem: Scan, config: Config) -> tuple[Step, ...]:
        grid = (self.blocks(problem, config), 1, 1)
        launch = Launch(self.kernel(), grid, (config["TEAM"], config["LINES"], 1))
        return (Step(launch, ("x", "y", *wide(problem.lines, problem.count))),)

    def accesses(self, problem: Scan, config: Config) -> Counted:
        """Every element once, in registers; the warps of a team meet once a tile."""
        x, y = problem.arrays
        width, warps = vector(problem), config["TEAM"] // 32
        tiles = blocks(problem.count, config["TEAM"] * config["ROWS"] * width)
        made = beside(x.size, x.numpy.itemsize, width) + stored_beside(y.size, y.numpy.itemsize)
        within = vector_scan(x.size, width, config["ROWS"], warps)
        return {self.kernel(): made + replace(within, steps=tiles * within.steps)}


STRATEGY = ScannedRows()
