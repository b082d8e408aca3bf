"""Rung 3, `vectors`: persistent segments, several vectors of 16 bytes in flight a thread.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., section 10.8
(thread coarsening); Harris, "Optimizing Parallel Reduction in CUDA" (NVIDIA, 2007).
"""

from __future__ import annotations

from rooftile.devices.gpu import Launch
from rooftile.ops.reduce import Reduce
from rooftile.strategies.common.grid import MOST_BLOCKS, beyond_block, blocks, tile_of
from rooftile.strategies.gpu import Config, Step, Tunable
from rooftile.strategies.reduce.gpu._base import SegmentedReduce

_VECTOR_BYTES = 16
_BLOCK = 256
"""Threads of a block where its rows are short."""


class Vectors(SegmentedReduce):
    """Sums are the same in every run."""

    name = "vectors"
    order = 3
    summary = "persistent segments, several vectors of 16 bytes in flight a thread"
    tunables = (
        Tunable("GROUP", (8, 32, 64, 128, 256, 512), 256),
        Tunable("ROWS", (1, 2, 4, 8, 32), 1),
        Tunable("LOADS", (1, 2, 4, 8), 4),
        Tunable("BLOCKS", (1, 2, 4, 8, 16), 8),
    )

    def why_not(self, problem: Reduce) -> str | None:
        """More runs of rows than a grid has blocks in y."""
        reason = self.invalid(problem, self.defaults(problem))
        return reason or super().why_not(problem)

    def defaults(self, problem: Reduce) -> dict[str, int]:
        """As many threads as a row occupies, as many rows as a block has threads for."""
        vectors = blocks(problem.columns, _vector(problem))
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
        return {**macros, "TEAM": config["GROUP"], "VECTOR": _vector(problem)}

    def segments(self, problem: Reduce, config: Config) -> int:
        """A row has as many as keep every multiprocessor busy, and none is emptier than a load."""
        runs = blocks(problem.rows, config["ROWS"])
        wanted = blocks(config["BLOCKS"] * self.machine.multiprocessors, runs)
        loads = blocks(problem.columns, _vector(problem) * config["GROUP"] * config["LOADS"])
        return max(1, min(wanted, loads))

    def steps(self, problem: Reduce, config: Config) -> tuple[Step, ...]:
        """Segments, then their sums."""
        runs = blocks(problem.rows, config["ROWS"])
        grid = (self.segments(problem, config), runs, 1)
        launch = Launch("segments", grid, (config["GROUP"], config["ROWS"], 1))
        return self.both(problem, config, launch)


def _vector(problem: Reduce) -> int:
    """Elements of 16 bytes where every row begins at a multiple of them, else 1."""
    width = _VECTOR_BYTES // problem.input_arrays[0].numpy.itemsize
    return width if problem.rows == 1 or problem.columns % width == 0 else 1


STRATEGY = Vectors()
