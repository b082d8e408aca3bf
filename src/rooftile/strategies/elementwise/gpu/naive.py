"""A thread an element, and the ways to give a thread several. Source: PMPP, section 2.5; Harris,
"CUDA Pro Tip: Write Flexible Kernels with Grid-Stride Loops" (NVIDIA, 2013); section 6.3; sections
6.1 and 6.3 (coalescing, thread coarsening)."""

from __future__ import annotations

from rooftile.analysis.access import SECTOR_BYTES
from rooftile.analysis.accesses import Accesses, row_loads, row_stores
from rooftile.analysis.pictures import Panels
from rooftile.ops.patterns.elementwise import Elementwise
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config, Tunable
from rooftile.strategies.elementwise.gpu._base import GpuElementwise


class Naive(GpuElementwise):
    """Takes every problem."""

    name = "naive"
    summary = "a thread an element"
    tunables = (Tunable("BLOCK", (64, 128, 256, 512, 1024), 256),)

    def of_block(self, problem: Elementwise, config: Config) -> int:
        """An element a thread."""
        return config["BLOCK"]

    def of_element(self, problem: Elementwise, config: Config) -> tuple[Accesses, Accesses]:
        """Neighbours by neighbouring threads."""
        return self.in_order(problem)


class GridStride(GpuElementwise):
    """Takes every problem."""

    name = "grid_stride"
    summary = "as many threads as the device holds, each a grid apart from its next element"
    tunables = (
        Tunable("BLOCK", (64, 128, 256, 512, 1024), 256),
        Tunable("BLOCKS", (1, 2, 4, 8, 16), 8),
    )

    def of_block(self, problem: Elementwise, config: Config) -> int:
        """A share of all elements, as many as the device holds blocks."""
        held = config["BLOCKS"] * self.machine.multiprocessors
        return max(config["BLOCK"], blocks(problem.count, held))

    def of_element(self, problem: Elementwise, config: Config) -> tuple[Accesses, Accesses]:
        """Neighbours by neighbouring threads, in every round."""
        return self.in_order(problem)

    def picture(self, problem: Elementwise, config: Config) -> Panels:
        """A thread's elements lie a grid apart, which is too large to be drawn."""
        return ()


class BlockStrided(GpuElementwise):
    """Takes every problem."""

    name = "block_strided"
    summary = "several sections a block: a thread's elements lie a block apart"
    tunables = (
        Tunable("BLOCK", (64, 128, 256, 512, 1024), 256),
        Tunable("ELEMENTS", (2, 4, 8, 9, 10, 16), 4),
    )

    def of_block(self, problem: Elementwise, config: Config) -> int:
        """ELEMENTS sections."""
        return config["BLOCK"] * config["ELEMENTS"]

    def of_element(self, problem: Elementwise, config: Config) -> tuple[Accesses, Accesses]:
        """Neighbours by neighbouring threads, in every round."""
        return self.in_order(problem)


class Adjacent(GpuElementwise):
    """Takes every problem."""

    name = "adjacent"
    summary = "several neighbours a thread: the accesses of a warp lie apart"
    tunables = (
        Tunable("BLOCK", (64, 128, 256, 512, 1024), 256),
        Tunable("ELEMENTS", (2, 4, 8, 16), 4),
    )

    def of_block(self, problem: Elementwise, config: Config) -> int:
        """ELEMENTS neighbours a thread."""
        return config["BLOCK"] * config["ELEMENTS"]

    def of_element(self, problem: Elementwise, config: Config) -> tuple[Accesses, Accesses]:
        """In each of a thread's rounds, the elements of a warp lie ELEMENTS apart."""
        rounds, size = config["ELEMENTS"], problem.arrays[0].numpy.itemsize
        threads = blocks(problem.count, rounds)
        aligned = SECTOR_BYTES // size
        read = row_loads(threads, rounds, stride=rounds, alignment=aligned, elem_bytes=size)
        return read, row_stores(threads, rounds, stride=rounds, elem_bytes=size)

    def of_thread(self, problem: Elementwise, config: Config, element: int) -> tuple[int, int]:
        """Neighbours."""
        return divmod(element, config["ELEMENTS"])


STRATEGIES = (Naive(), GridStride(), BlockStrided(), Adjacent())
