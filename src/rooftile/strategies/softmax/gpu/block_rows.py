"""`block_rows`: a team of threads a row, joined by trees.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed.,
section 10.6 (the tree in shared memory).
"""

from __future__ import annotations

import math

from rooftile.analysis.accesses import (
    SECTOR_FLOATS,
    WARP,
    Accesses,
    row_loads,
    row_stores,
)
from rooftile.devices.gpu import Launch
from rooftile.ops import Softmax
from rooftile.strategies.common.grid import beyond_block, blocks, tile_of
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.softmax.gpu._base import GpuSoftmax

_BLOCK = 256
"""Threads of a block where its rows are short."""
_THREAD_CLASSES = 4
"""Classes a thread, where there are enough."""


class BlockRows(GpuSoftmax):
    """Short rows share a block; sums are the same in every run."""

    name = "block_rows"
    summary = "a team of threads a row, maximum and sum joined by trees"
    tunables = (
        Tunable("GROUP", (2, 8, 32, 128, 256, 512), 256),
        Tunable("ROWS", (1, 2, 8, 32, 64), 1),
    )

    def defaults(self, problem: Softmax) -> dict[str, int]:
        """As many threads as a row occupies, as many rows as a block does."""
        team = tile_of(blocks(problem.classes, _THREAD_CLASSES), 2, 512)
        return {"GROUP": team, "ROWS": min(64, max(1, _BLOCK // team))}

    def invalid(self, problem: Softmax, config: Config) -> str | None:
        return beyond_block(config["GROUP"] * config["ROWS"])

    def macros(self, problem: Softmax, config: Config) -> dict[str, int | str]:
        return {**super().macros(problem, config), "TEAM": config["GROUP"]}

    def steps(self, problem: Softmax, config: Config) -> tuple[Step, ...]:
        """One kernel, a team of threads a row."""
        grid = (blocks(problem.batch, config["ROWS"]), 1, 1)
        launch = Launch(self.kernel(), grid, (config["GROUP"], config["ROWS"], 1))
        return (Step(launch, ("x", "out", problem.batch)),)

    def accesses(self, problem: Softmax, config: Config) -> dict[str, Accesses]:
        """GROUP lanes a row: the inputs three times, results once; a step of each of the two trees
        reads two numbers."""
        team, classes = config["GROUP"], problem.classes
        lanes, alignment = min(WARP, team), math.gcd(classes, SECTOR_FLOATS)
        found = row_loads(classes, 3 * problem.batch, lanes=lanes, alignment=alignment)
        found += row_stores(classes, problem.batch, lanes=lanes)
        steps = team.bit_length() - 1
        trees = problem.batch * team / WARP * 2 * 2 * steps
        return {self.kernel(): found + Accesses(shared_reads=trees)}


STRATEGY = BlockRows()
