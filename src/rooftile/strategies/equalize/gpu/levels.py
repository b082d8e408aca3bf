"""The histogram of an image, and the levels that it gives.

Source: PMPP, section 9.4; Podlozhnyuk, "Histogram calculation in CUDA" (NVIDIA, 2007), for bins of
few threads.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from rooftile.analysis.access import SECTOR_BYTES
from rooftile.analysis.accesses import WARP, Accesses, Counted, apart, beside, stored_beside
from rooftile.analysis.cooperation import block_scan, chain, increments
from rooftile.devices.gpu import Launch
from rooftile.ops.patterns.equalize import LEVELS, Equalize
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config, GpuStrategy, Step, Tunable

BLOCK = Tunable("BLOCK", (64, 128, 256, 512, 1024), 256)
_MOST_BLOCKS = 2**31 - 1


class GpuEqualize(GpuStrategy):
    """A thread a pixel, and then a thread a byte."""

    operation = "equalize"
    summing = "count_levels"
    wide_indices = True
    tunables: ClassVar[tuple[Tunable, ...]] = (BLOCK,)

    def limits(self, problem: Equalize) -> str | None:
        if self.grids(problem, self.defaults(problem))[1] > _MOST_BLOCKS:
            return f"{problem.pixels} pixels are more than a grid covers"
        return None

    def macros(self, problem: Equalize, config: Config) -> dict[str, int | str]:
        return {"CHANNELS": problem.channels, "BLOCK": config["BLOCK"]}

    def grids(self, problem: Equalize, config: Config) -> tuple[int, int]:
        """Blocks that count, and blocks that look up."""
        pixels, block = problem.pixels, config["BLOCK"]
        return blocks(pixels, block), blocks(problem.channels * pixels, block)

    def ties(self, problem: Equalize) -> tuple[str, ...]:
        """The arrays that counting takes besides the image and the counts."""
        return ()

    def workspace(self, problem: Equalize, config: Config) -> dict[str, int]:
        return {"counts": 2 * LEVELS, "table": LEVELS // 4}

    def steps(self, problem: Equalize, config: Config) -> tuple[Step, ...]:
        (counting, looking), block = self.grids(problem, config), (config["BLOCK"], 1, 1)
        pixels, bytes_ = np.int64(problem.pixels), np.int64(problem.channels * problem.pixels)
        levels, one = (LEVELS, 1, 1), (1, 1, 1)
        ties = self.ties(problem)
        count = Launch(self.kernel("count_levels"), (counting, 1, 1), block)
        return (
            *(Step(Launch(self.kernel("find_ties"), levels, levels), (name,)) for name in ties),
            Step(Launch(self.kernel("clear"), one, levels), ("counts",)),
            Step(count, ("image", *ties, "counts", pixels)),
            Step(Launch(self.kernel("make_table"), one, levels), ("counts", "table")),
            Step(
                Launch(self.kernel("look_up"), (looking, 1, 1), block),
                ("image", "table", "y", bytes_),
            ),
        )

    def counted(self, problem: Equalize, config: Config) -> Accesses:
        """The accesses of counting levels: a pixel's bytes are adjacent, and pixels too."""
        made = apart(problem.channels * problem.pixels, problem.channels, 1)
        return made + increments(problem.pixels, LEVELS, 1) + chain(0, 1)

    def looked_up(self, problem: Equalize, config: Config) -> Accesses:
        """The accesses of looking up: a byte read, one of the table, a byte stored."""
        bytes_ = problem.channels * problem.pixels
        made = beside(bytes_, 1) + apart(bytes_, SECTOR_BYTES, 1) + stored_beside(bytes_, 1)
        return made + chain(bytes_, 1)

    def accesses(self, problem: Equalize, config: Config) -> Counted:
        """All kernels; the table is one block's scan of the levels."""
        table = block_scan("kogge_stone", LEVELS, 1) + beside(LEVELS, 8) + stored_beside(LEVELS, 1)
        found = {
            self.kernel("clear"): stored_beside(LEVELS, 8),
            self.kernel("count_levels"): self.counted(problem, config),
            self.kernel("make_table"): table,
            self.kernel("look_up"): self.looked_up(problem, config),
        }
        ties = {self.kernel("find_ties"): stored_beside(LEVELS**2, 1)} if self.ties(problem) else {}
        return {**found, **ties}


class PersistentEqualize(GpuEqualize):
    """Persistent blocks, which find ties in a table."""

    run = 1
    """Pixels, or bytes, of a thread in one round."""

    def grids(self, problem: Equalize, config: Config) -> tuple[int, int]:
        """As many blocks as keep the device busy."""
        wanted = config["BLOCKS"] * self.machine.multiprocessors
        counting, looking = super().grids(problem, config)
        return min(wanted, blocks(counting, self.run)), min(wanted, blocks(looking, self.run))

    def ties(self, problem: Equalize) -> tuple[str, ...]:
        """The table, of colours."""
        return ("ties",) if problem.channels == 3 else ()

    def workspace(self, problem: Equalize, config: Config) -> dict[str, int]:
        held = super().workspace(problem, config)
        return {**held, **dict.fromkeys(self.ties(problem), LEVELS * LEVELS // 4)}

    def copies(self) -> int:
        """Copies of bins and table that a block has."""
        return 1

    def counted(self, problem: Equalize, config: Config) -> Accesses:
        """See `GpuEqualize.counted`: in shared memory, then each block's bins; ties of colours."""
        grid, pixels = self.grids(problem, config)[0], problem.pixels
        bytes_, copies = problem.channels * pixels, self.copies()
        made = beside(bytes_, 1, 16) if self.run > 1 else apart(bytes_, problem.channels, 1)
        if problem.channels == 3:
            made += apart(pixels, SECTOR_BYTES, 1)
        made += increments(pixels, LEVELS, grid * copies, shared=True)
        made += chain(LEVELS * grid, blocks(pixels, grid * config["BLOCK"]))
        reads = LEVELS * copies * grid / WARP
        flushed = Accesses(shared_reads=reads, turns=grid, turns_if_equal=grid)
        return made + flushed + Accesses(atomics=LEVELS * grid)

    def looked_up(self, problem: Equalize, config: Config) -> Accesses:
        """The table is in shared memory."""
        bytes_, grid = problem.channels * problem.pixels, self.grids(problem, config)[1]
        made = beside(bytes_, 1, self.run) + stored_beside(bytes_, 1)
        made += chain(bytes_, blocks(bytes_, grid * config["BLOCK"]))
        return made + beside(LEVELS * grid, 1) + Accesses(shared_reads=bytes_ / WARP)


class Naive(GpuEqualize):
    """Takes every picture that a grid covers."""

    name = "naive"
    summary = "a thread a pixel, in double precision, every pixel an atomic in global memory"


class Privatised(PersistentEqualize):
    """Takes every picture."""

    name = "privatised"
    summary = "a block's own bins and table in shared memory, sums of hundredths"
    tunables = (BLOCK, Tunable("BLOCKS", (1, 2, 4, 8), 8))


class Vectors(PersistentEqualize):
    """Takes every picture."""

    name = "vectors"
    summary = "sixteen pixels a thread, bins and table in a bank of each lane's own"
    tunables = (Tunable("BLOCK", (128, 256, 512, 1024), 512), Tunable("BLOCKS", (1, 2, 4), 4))
    run = 16

    def copies(self) -> int:
        """See `PersistentEqualize.copies`: a lane's own."""
        return WARP


STRATEGIES = (Naive(), Privatised(), Vectors())
