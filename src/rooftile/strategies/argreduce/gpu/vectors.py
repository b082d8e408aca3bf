"""`vectors`: persistent segments, vectors of 16 bytes, places looked for at the end."""

from __future__ import annotations

import numpy as np

from rooftile.analysis.accesses import WARP, Counted, beside
from rooftile.analysis.cooperation import chain, shared_tree
from rooftile.devices.gpu import Launch
from rooftile.ops.patterns.argreduce import Argreduce
from rooftile.strategies.argreduce.gpu._base import PLACE_BYTES, GpuArgreduce
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.common.operators import CARRIED_BYTES
from rooftile.strategies.common.rows import InRows, row_vector
from rooftile.strategies.contract.gpu import Config, Step


class Vectors(InRows, GpuArgreduce):
    """Takes rows whose elements are adjacent."""

    name = "vectors"
    summary = "vectors of 16 bytes; the place is looked for at the end, in the best chunk"
    thread_bytes = 16

    def limits(self, problem: Argreduce) -> str | None:
        return self.not_in_rows(problem) or super().limits(problem)

    def defaults(self, problem: Argreduce) -> dict[str, int]:
        """Of many rows fewer loads in flight: each of a row's chunks is compared with the best."""
        found = super().defaults(problem)
        return {**found, "LOADS": 2} if problem.rows > 1 else found

    def segments(self, problem: Argreduce, config: Config) -> int:
        """A row has as many as keep every multiprocessor busy, and none is emptier than a load."""
        runs = blocks(problem.rows, config["ROWS"])
        wanted = blocks(config["BLOCKS"] * self.machine.multiprocessors, runs)
        chunk = row_vector(problem) * config["GROUP"] * config["LOADS"]
        return max(1, min(wanted, blocks(problem.columns, chunk)))

    def steps(self, problem: Argreduce, config: Config) -> tuple[Step, ...]:
        grid = (self.segments(problem, config), blocks(problem.rows, config["ROWS"]), 1)
        launch = Launch(self.kernel(), grid, (config["GROUP"], config["ROWS"], 1))
        return self.both(problem, config, launch, problem.rows, np.int64(problem.columns))

    def accesses(self, problem: Argreduce, config: Config) -> Counted:
        """Vectors once, each warp's best chunk again, then the tournament."""
        segments, team, loads = self.segments(problem, config), config["GROUP"], config["LOADS"]
        size, width = problem.input_arrays[0].numpy.itemsize, row_vector(problem)
        count, teams = problem.rows * problem.columns, problem.rows * segments
        again = min(count, teams * blocks(team, WARP) * loads * width)
        made = beside(count + again, size, width)
        chunks = blocks(problem.columns, segments * team * loads)
        made += chain(count + again, chunks + loads * width)
        words = (CARRIED_BYTES[problem.carried] + PLACE_BYTES) // 4
        made += shared_tree(team // 2, "sequential", teams, words, max(1, WARP // team))
        return self.joined(problem, config, made)


STRATEGY = Vectors()
