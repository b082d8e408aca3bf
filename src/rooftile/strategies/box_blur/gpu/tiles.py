"""A thread for a pixel, from global memory and from tiles in shared memory.

Source: PMPP, section 3.3; PMPP, chapter 7.
"""

from __future__ import annotations

import numpy as np

from rooftile.analysis.accesses import Accesses
from rooftile.analysis.pictures import Panels, filter_tile, result_tile, window
from rooftile.devices.gpu import Launch
from rooftile.ops.patterns.box_blur import BoxBlur
from rooftile.strategies.box_blur.gpu._accesses import of_tiles, of_windows
from rooftile.strategies.common.grid import MOST_BLOCKS, beyond_block, blocks
from rooftile.strategies.contract.gpu import Config, GpuStrategy, Step, Tunable


class GpuBoxBlur(GpuStrategy):
    """A GPU strategy of `box_blur`: one kernel of its name."""

    operation = "box_blur"
    wide_indices = True

    def macros(self, problem: BoxBlur, config: Config) -> dict[str, int | str]:
        return {"RADIUS": problem.radius, "CHANNELS": problem.channels, **config}

    def one(self, problem: BoxBlur, launch: Launch) -> tuple[Step, ...]:
        """The launch of the kernel."""
        sizes = np.int64(problem.height), np.int64(problem.width)
        return (Step(launch, ("image", "blurred", *sizes)),)


class Naive(GpuBoxBlur):
    """Takes every problem."""

    name = "naive"
    summary = "a thread a byte, its window by the definition"
    tunables = (Tunable("ACROSS", (8, 16, 32, 64), 32), Tunable("DOWN", (4, 8, 16), 8))

    def steps(self, problem: BoxBlur, config: Config) -> tuple[Step, ...]:
        across, down = config["ACROSS"], config["DOWN"]
        rows = min(blocks(problem.height, down), MOST_BLOCKS)
        grid = (blocks(problem.columns, across), rows, 1)
        return self.one(problem, Launch(self.kernel(), grid, (across, down, 1)))

    def accesses(self, problem: BoxBlur, config: Config) -> dict[str, Accesses]:
        """A load for each byte of each window."""
        return {self.kernel(): of_windows(problem, config["ACROSS"], config["DOWN"])}


class Tiled(GpuBoxBlur):
    """Takes problems whose tile fits into shared memory."""

    name = "tiled"
    summary = "a tile with what its windows reach, in shared memory"
    tunables = (Tunable("ACROSS", (16, 32, 64), 32), Tunable("DOWN", (4, 8, 16), 16))

    def limits(self, problem: BoxBlur) -> str | None:
        return self.invalid(problem, self.defaults(problem))

    def invalid(self, problem: BoxBlur, config: Config) -> str | None:
        across, down = config["ACROSS"], config["DOWN"]
        if blocks(problem.height, down) > MOST_BLOCKS:
            return f"{problem.height} rows, {down} a block, {MOST_BLOCKS} blocks at most"
        halo = 2 * problem.radius
        tile = (across + halo * problem.channels) * (down + halo)
        return beyond_block(across * down, tile)

    def steps(self, problem: BoxBlur, config: Config) -> tuple[Step, ...]:
        across, down = config["ACROSS"], config["DOWN"]
        grid = (blocks(problem.columns, across), blocks(problem.height, down), 1)
        return self.one(problem, Launch(self.kernel(), grid, (across, down, 1)))

    def accesses(self, problem: BoxBlur, config: Config) -> dict[str, Accesses]:
        """The tile and its halo once, the windows from shared memory."""
        return {self.kernel(): of_tiles(problem, config["ACROSS"], config["DOWN"])}

    def picture(self, problem: BoxBlur, config: Config) -> Panels:
        """The tile with what its windows reach, by the threads that load it."""
        across, down, radius = config["ACROSS"], config["DOWN"], problem.radius
        halo, size = radius * problem.channels, (problem.height, problem.columns)
        i, j = down // 2, across // 2
        used = {(i + p, j + q * problem.channels) for p, q in window((0, 0), (problem.window,) * 2)}

        def thread(p: int, q: int) -> int:
            return p % down * across + q % across

        return (
            filter_tile(
                "image, by the thread that loads it",
                size,
                (-radius, -halo),
                (down + 2 * radius, across + 2 * halo),
                (down, across),
                thread,
                used,
            ),
            result_tile("blurred", size, (down, across), thread, (i, j)),
        )


STRATEGIES = (Naive(), Tiled())
