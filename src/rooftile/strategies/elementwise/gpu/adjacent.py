"""`adjacent`: a thread takes neighbours, so that a warp's loads lie apart.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., sections 6.1 and
6.3 (coalescing, thread coarsening).
"""

from __future__ import annotations

from rooftile.analysis.access import SECTOR_BYTES
from rooftile.analysis.accesses import Accesses, row_loads, row_stores
from rooftile.ops.patterns.elementwise import Elementwise
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config, Tunable
from rooftile.strategies.elementwise.gpu._base import GpuElementwise


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


STRATEGY = Adjacent()
