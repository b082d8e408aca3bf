"""Rung 3, `vectors`: persistent segments, vectors of 16 bytes, places looked for at the end."""

from __future__ import annotations

import numpy as np

from rooftile.devices.gpu import Launch
from rooftile.ops.argreduce import Argreduce
from rooftile.strategies.argreduce.gpu._base import GpuArgreduce, row_vector
from rooftile.strategies.common.grid import MOST_BLOCKS, beyond_block, blocks, tile_of
from rooftile.strategies.gpu import Config, Step, Tunable

_BLOCK = 256
"""Threads of a block where its rows are short."""
_FOUND_BYTES = 16
"""Of a thread's value and place."""


class Vectors(GpuArgreduce):
    """Takes rows whose elements lie beside each other."""

    name = "vectors"
    order = 3
    summary = "vectors of 16 bytes; the place is looked for at the end, in the best chunk"
    tunables = (
        Tunable("GROUP", (8, 32, 64, 128, 256, 512), 256),
        Tunable("ROWS", (1, 2, 4, 8, 32), 1),
        Tunable("LOADS", (1, 2, 4, 8), 4),
        Tunable("BLOCKS", (1, 2, 4, 8, 16), 8),
    )

    def why_not(self, problem: Argreduce) -> str | None:
        """Elements that lie apart; more runs of rows than a grid has blocks in y."""
        if problem.inner > 1:
            return f"the elements of a result lie {problem.inner} apart"
        reason = self.invalid(problem, self.defaults(problem))
        return reason or super().why_not(problem)

    def defaults(self, problem: Argreduce) -> dict[str, int]:
        """As many threads as a row occupies, as many rows as a block has threads for."""
        vectors = blocks(problem.columns, row_vector(problem))
        team = tile_of(blocks(vectors, 2), 8, _BLOCK)
        rows = min(_BLOCK // team, 32) if problem.rows > 1 else 1
        while rows < 32 and blocks(problem.rows, rows) > MOST_BLOCKS:
            rows *= 2
        return {"GROUP": team, "ROWS": rows, "LOADS": 4, "BLOCKS": 8}

    def invalid(self, problem: Argreduce, config: Config) -> str | None:
        """Too many threads, or runs of rows."""
        threads = config["GROUP"] * config["ROWS"]
        if blocks(problem.rows, config["ROWS"]) > MOST_BLOCKS:
            return f"{problem.rows} rows, {config['ROWS']} a block, {MOST_BLOCKS} blocks at most"
        return beyond_block(threads, _FOUND_BYTES * threads)

    def macros(self, problem: Argreduce, config: Config) -> dict[str, int | str]:
        """Also the elements of a vector; the text calls GROUP threads a team."""
        macros = super().macros(problem, config)
        return {**macros, "TEAM": config["GROUP"], "VECTOR": row_vector(problem)}

    def segments(self, problem: Argreduce, config: Config) -> int:
        """A row has as many as keep every multiprocessor busy, and none is emptier than a load."""
        runs = blocks(problem.rows, config["ROWS"])
        wanted = blocks(config["BLOCKS"] * self.machine.multiprocessors, runs)
        chunk = row_vector(problem) * config["GROUP"] * config["LOADS"]
        return max(1, min(wanted, blocks(problem.columns, chunk)))

    def steps(self, problem: Argreduce, config: Config) -> tuple[Step, ...]:
        """Segments, then what they found."""
        grid = (self.segments(problem, config), blocks(problem.rows, config["ROWS"]), 1)
        launch = Launch("segments", grid, (config["GROUP"], config["ROWS"], 1))
        return self.both(problem, config, launch, problem.rows, np.int64(problem.columns))


STRATEGY = Vectors()
