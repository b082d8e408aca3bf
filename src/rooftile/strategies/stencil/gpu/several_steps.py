"""`several_steps`: several time steps in one launch. Source: Nguyen, Satish, Chhugani, Kim, Dubey,
"3.5-D Blocking Optimization for Stencil Computations on Modern CPUs and GPUs", SC10."""

from __future__ import annotations

from itertools import product

from rooftile.analysis.accesses import Accesses, warps_of
from rooftile.ops.features import features
from rooftile.ops.patterns.stencil import Stencil
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.common.volume_accesses import results, tile_loads, tiles_of
from rooftile.strategies.common.volume_march import MarchingStrategy
from rooftile.strategies.common.volumes import Tile, times
from rooftile.strategies.contract.gpu import Config, Tunable

_MOST_LEVELS = {1: 4, 2: 2, 4: 1}
"""Steps of a launch, by how far a stencil reaches: rims and registers grow with both."""
_ROWS = 4
_BANKS = 32
"""Of shared memory, and threads of a warp."""
_BARRIER = 128
"""The cost of a block's barriers, in threads that it could have more."""
_FURTHER_REGISTERS = 32
"""Registers of a thread besides open sums: fewer do not suffice."""
_WARPS_TOGETHER = 4
"""Registers are allocated to this number of warps together, one of each partition of a
multiprocessor."""
_MOST_OPEN = 96
"""Open sums a thread, which are registers."""


class SeveralSteps(MarchingStrategy):
    """Takes every problem whose rims leave something of a tile."""

    operation = "stencil"
    name = "several_steps"
    summary = "several time steps a launch, each a few planes behind the one before"
    takes = features("boundary:valid")
    tunables = (
        Tunable("LEVELS", (1, 2, 3, 4), 4),
        Tunable("THREADS_X", (16, 32, 36), 32),
        Tunable("THREADS_Y", (4, 8, 12, 14, 16, 18), 16),
        Tunable("THREAD_ROWS", (1, 2, 4), _ROWS),
        Tunable("THREAD_COLUMNS", (1, 2), 2),
        Tunable("BLOCKS", (1, 2, 3), 1),
    )

    def defaults(self, problem: Stencil) -> dict[str, int]:
        """The launches' steps are shared out evenly; the block is the one with the least to do,
        rims included, until the last of the grid's blocks ends."""
        most = _MOST_LEVELS[problem.radius]
        levels = blocks(problem.steps, blocks(problem.steps, most))
        rows = self.thread_rows(problem, levels)
        config = {**super().defaults(problem), "LEVELS": levels, "THREAD_ROWS": rows}
        tunables = {tunable.name: tunable.values for tunable in self.tunables}
        found = [
            {**config, "THREADS_X": across, "THREADS_Y": down}
            for across, down in product(tunables["THREADS_X"], tunables["THREADS_Y"])
        ]
        fit = [one for one in found if self.invalid(problem, one) is None]
        return min(fit, key=lambda one: self._cost(problem, one)) if fit else config

    def thread_rows(self, problem: Stencil, levels: int) -> int:
        """Rows of a thread: as many as registers hold the open sums of."""
        return _ROWS

    def _cost(self, problem: Stencil, config: Config) -> int:
        """Planes that a multiprocessor goes through, times its threads and what a barrier takes."""
        tile = self.tile(problem, config)
        waves = blocks(self.grid(problem, config), self.machine.multiprocessors * config["BLOCKS"])
        planes = tile.sums[0] + self.further(problem, config)
        return waves * planes * config["BLOCKS"] * (tile.thread_count + _BARRIER)

    def invalid(self, problem: Stencil, config: Config) -> str | None:
        places = config["THREAD_ROWS"] * config["THREAD_COLUMNS"]
        made = config["LEVELS"] * (problem.mask[0] - 1) * places
        if made > _MOST_OPEN:
            return f"{made} open sums a thread, at most {_MOST_OPEN}"
        threads = config["THREADS_X"] * config["THREADS_Y"]
        together = _BANKS * _WARPS_TOGETHER
        held = config["BLOCKS"] * blocks(threads, together) * together
        if held * (made + _FURTHER_REGISTERS) > self.machine.registers:
            return f"{threads} threads with {made} open sums each: registers do not hold them"
        return super().invalid(problem, config)

    def front(self, problem: Stencil, config: Config) -> tuple[int, int]:
        """Rows and columns of the block's threads, without the rims."""
        rim = 2 * config["LEVELS"] * problem.radius
        return (
            config["THREADS_Y"] * config["THREAD_ROWS"] - rim,
            config["THREADS_X"] * config["THREAD_COLUMNS"] - rim,
        )

    def further(self, problem: Stencil, config: Config) -> int:
        """Cells that the steps reach beyond the tile, on either side."""
        return config["LEVELS"] * (problem.mask[0] - 1)

    def tile(self, problem: Stencil, config: Config) -> Tile:
        sums = (self.segment(problem, config), *self.front(problem, config))
        down, across = config["THREADS_Y"], config["THREADS_X"]
        rows = down * config["THREAD_ROWS"] + 2 * problem.radius
        held = config["THREAD_COLUMNS"] * rows * _pitch(problem, config)
        return Tile(sums, (1, down, across), 2 * held)

    def unrolled(self, problem: Stencil, config: Config) -> int:
        """The points of all places of a thread, in every step."""
        places = config["THREAD_ROWS"] * config["THREAD_COLUMNS"]
        return problem.points * places * config["LEVELS"]

    def macros(self, problem: Stencil, config: Config) -> dict[str, int | str]:
        even = problem.size[2] % 2 == 0 and config["LEVELS"] * problem.radius % 2 == 0
        pairs = config["THREAD_COLUMNS"] == 2 and even and problem.output_size == problem.size
        pitch = _pitch(problem, config)
        return {**super().macros(problem, config), "PAIRS": int(pairs), "PITCH": pitch}

    def rounds(self, problem: Stencil, config: Config) -> int:
        """As many launches as the steps need."""
        return blocks(problem.steps, config["LEVELS"])

    def accesses(self, problem: Stencil, config: Config) -> dict[str, Accesses]:
        """A tile with its rims once a launch; then, in every step, the neighbours of a thread's
        cells."""
        tile, covered = self.tile(problem, config), self.covered(problem)
        rim = 2 * config["LEVELS"] * problem.radius
        planes = tile.sums[0] + self.further(problem, config)
        loaded = (planes, tile.sums[1] + rim, tile.sums[2] + rim)
        loads = tile_loads(problem, covered, tile.sums, loaded)
        rows, columns, reach = config["THREAD_ROWS"], config["THREAD_COLUMNS"], 2 * problem.radius
        around = rows * reach + columns * reach + (0 if problem.star else reach * reach)
        warps = tiles_of(problem, covered, tile.sums) * warps_of(tile.thread_count)
        rounds = self.rounds(problem, config)
        shared = Accesses(shared_reads=warps * planes * around * problem.steps)
        made = results(problem, rounds, tile.threads[2])
        return {self.kernel(): times(loads, rounds) + shared + made}

    def more(self, problem: Stencil, config: Config, number: int) -> tuple[int, ...]:
        """A launch's steps: the last one makes those that are left."""
        return (min(config["LEVELS"], problem.steps - number * config["LEVELS"]),)


def _pitch(problem: Stencil, config: Config) -> int:
    """From one row of a plane in shared memory to the next. Where a warp's threads belong to two
    rows, the second row's follow the first's in the order of banks, as far as that can be."""
    across, rows = config["THREADS_X"], config["THREAD_ROWS"]
    least = across + 2 * blocks(problem.radius, config["THREAD_COLUMNS"])
    apart = (p for p in range(least, least + _BANKS) if (rows * p - across) % _BANKS == 0)
    return least if across % _BANKS == 0 else next(apart, least)


STRATEGY = SeveralSteps()
