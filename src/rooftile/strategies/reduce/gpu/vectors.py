"""Rung 9, `vectors`: persistent segments, several vectors of 16 bytes in flight a thread.

Source: Luitjens, "CUDA Pro Tip: Increase Performance with Vectorized Memory Access" (NVIDIA, 2013).
"""

from __future__ import annotations

import numpy as np

from rooftile.devices.gpu import Launch
from rooftile.ops.reduce import Reduce
from rooftile.strategies.common.grid import MOST_BLOCKS, beyond_block, blocks, tile_of
from rooftile.strategies.gpu import Config, Step, Tunable
from rooftile.strategies.reduce.gpu._base import GpuReduce, row_vector, shortened

_BLOCK = 256
"""Threads of a block where its rows are short."""


class Vectors(GpuReduce):
    """Takes rows whose elements lie beside each other."""

    name = "vectors"
    order = 9
    summary = "persistent segments, several vectors of 16 bytes in flight a thread"
    tunables = (
        Tunable("GROUP", (8, 32, 64, 128, 256, 512), 256),
        Tunable("ROWS", (1, 2, 4, 8, 32), 1),
        Tunable("LOADS", (1, 2, 4, 8), 4),
        Tunable("BLOCKS", (1, 2, 4, 8, 16), 8),
    )

    def why_not(self, problem: Reduce) -> str | None:
        """Elements that lie apart; more runs of rows than a grid has blocks in y."""
        if problem.inner > 1:
            return f"the elements of a result lie {problem.inner} apart"
        reason = self.invalid(problem, self.defaults(problem))
        return reason or super().why_not(problem)

    def defaults(self, problem: Reduce) -> dict[str, int]:
        """As many threads as a row occupies, as many rows as a block has threads for."""
        vectors = blocks(problem.columns, row_vector(problem))
        team = tile_of(blocks(vectors, 2), 8, _BLOCK)
        rows = min(_BLOCK // team, 32) if problem.rows > 1 else 1
        while rows < 32 and blocks(problem.rows, rows) > MOST_BLOCKS:
            rows *= 2
        return {"GROUP": team, "ROWS": rows, "LOADS": 4, "BLOCKS": 8}

    def invalid(self, problem: Reduce, config: Config) -> str | None:
        """Too many threads, or runs of rows."""
        threads = config["GROUP"] * config["ROWS"]
        if blocks(problem.rows, config["ROWS"]) > MOST_BLOCKS:
            return f"{problem.rows} rows, {config['ROWS']} a block, {MOST_BLOCKS} blocks at most"
        return beyond_block(threads, 8 * threads)

    def macros(self, problem: Reduce, config: Config) -> dict[str, int | str]:
        """Also the elements of a vector; the text calls GROUP threads a team."""
        macros = super().macros(problem, config)
        return {**macros, "TEAM": config["GROUP"], "VECTOR": row_vector(problem)}

    def segments(self, problem: Reduce, config: Config) -> int:
        """A row has as many as keep every multiprocessor busy, and none is emptier than a load."""
        runs = blocks(problem.rows, config["ROWS"])
        wanted = blocks(config["BLOCKS"] * self.machine.multiprocessors, runs)
        round_ = row_vector(problem) * config["GROUP"] * config["LOADS"]
        return max(1, min(max(wanted, shortened(problem, round_)), blocks(problem.columns, round_)))

    def steps(self, problem: Reduce, config: Config) -> tuple[Step, ...]:
        """Segments, then their results."""
        grid = (self.segments(problem, config), blocks(problem.rows, config["ROWS"]), 1)
        launch = Launch("segments", grid, (config["GROUP"], config["ROWS"], 1))
        first, *others = self.both(problem, config, launch)
        numbers = problem.rows, np.int64(problem.columns)
        return (Step(launch, (*first.arguments[:2], *numbers)), *others)


STRATEGY = Vectors()
