"""Products on tensor cores by ``mma.sync`` of matrices as they are in memory, see ``slices.h``.
Source: NVIDIA, "Parallel Thread Execution ISA", on ``mma``, ``ldmatrix`` and ``cp.async``."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

from rooftile.strategies.common.cores import MmaStrategy
from rooftile.strategies.common.warpgroups import too_short
from rooftile.strategies.contract.gpu import Config

LINE = 128
"""Bytes of a slice's terms, however many an element has."""
_OTHER_REGISTERS = 48
"""Registers of a thread besides its sums and columns."""


class SlicedProduct(MmaStrategy):
    """A warp makes WARP_R x WARP_C results, of a block's WARPS_R x WARPS_C warps.

    Comes before the base class of an operation.
    """

    numbers: ClassVar[int] = 1
    """Numbers of the cores' type that stand for one value."""

    @abstractmethod
    def shared(self, problem: Any, config: Config) -> int:
        """Bytes of shared memory of a block."""

    def fits(self, problem: Any, config: Config) -> bool:
        """True if multiprocessors have the shared memory of their blocks."""
        return self.shared(problem, config) <= self.machine.shared_room(config["BLOCKS"])

    def invalid(self, problem: Any, config: Config) -> str | None:
        threads = threads_of(config)
        if threads > 512:
            return f"{threads} threads a block, at most 512"
        if not self.fits(problem, config):
            shared = self.shared(problem, config)
            return f"{config['BLOCKS']} blocks of {shared} bytes of shared memory"
        held = config["WARP_R"] * config["WARP_C"] // 32 + self.numbers * config["WARP_C"] // 4
        room = min(255, self.machine.register_room(threads * config["BLOCKS"]))
        if held + _OTHER_REGISTERS > room:
            return f"{held} registers of products and sums a thread, {room} registers in all"
        return None


class ThreeNumbers(SlicedProduct):
    """A number is split in three of bfloat16, which have its range and together its bits.

    Comes before a rung's class.
    """

    multiplied = "bf16"
    numbers = 3

    def limits(self, problem: Any) -> str | None:
        return too_short(problem.reduction) or super().limits(problem)


def tile_of(config: Config) -> tuple[int, int]:
    """Rows and columns of a block's results."""
    return config["WARP_R"] * config["WARPS_R"], config["WARP_C"] * config["WARPS_C"]


def threads_of(config: Config) -> int:
    """Threads of a block."""
    return 32 * config["WARPS_R"] * config["WARPS_C"]


def piece_of(length: int, size: int) -> int:
    """Elements of a copy, of 16 bytes or 4 where lines are whole ones: then they begin so."""
    return next((n for n in (16 // size, 4 // size) if length % n == 0), 1)


def tile_bytes(width: int, along: bool, size: int) -> int:
    """Bytes of a slice of a tile, whose lines are terms (``along``) or places."""
    return width * (LINE + 16) if along else LINE // size * (width + 8) * size
