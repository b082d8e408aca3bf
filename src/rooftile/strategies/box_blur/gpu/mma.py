"""`mma`: sums of windows as products with banded matrices, on tensor cores.

Source: NVIDIA, "Parallel Thread Execution ISA", on ``mma`` of bytes; for sums of windows as banded
products, Dakkak, Li, Gelado, Xiong, Hwu, "Accelerating Reduction and Scan Using Tensor Core Units",
ICS 2019.
"""

from __future__ import annotations

from rooftile.analysis.accesses import Accesses
from rooftile.devices.gpu import Launch
from rooftile.ops.patterns.box_blur import BoxBlur
from rooftile.strategies.box_blur.gpu._accesses import of_spans
from rooftile.strategies.box_blur.gpu.tiles import GpuBoxBlur
from rooftile.strategies.common.cores import MmaStrategy
from rooftile.strategies.common.grid import MOST_BLOCKS, blocks
from rooftile.strategies.contract.gpu import Config, Step, Tunable

_PIECE = 16
"""Bytes of a copy, rows and columns of a tile."""
_MOST_REACH = 8
"""Bytes and rows on either side that an instruction's 32 terms have of a tile."""
_HALF = 2**16
_MOST_INDEX = 2**30
_LEAST_ROWS, _MOST_ROWS = 64, 512
"""A band of fewer rows reads more above it than it makes; one of more leaves nothing to balance."""
_MOST_WARPS = 16
"""Resident warps of a multiprocessor. With fewer registers each, sums go to local memory, and then
the assembler of CUDA 13.2 gives the first tile's sums to a register that a product overwrites."""


class Mma(MmaStrategy, GpuBoxBlur):
    """Takes windows that reach up to eight bytes to either side, in rows of whole pieces."""

    name = "mma"
    summary = "windows' sums as products of bytes with banded matrices, on tensor cores"
    transforms = True
    tunables = (
        Tunable("TILES", (4, 8), 8),
        Tunable("WARPS", (4, 8), 8),
        Tunable("STAGES", (2, 3, 4), 2),
        Tunable("ROWS", (64, 128, 256, 512), 128),
        Tunable("RESIDENT_WARPS", (8, 12, 16), 16),
    )

    def limits(self, problem: BoxBlur) -> str | None:
        return self.invalid(problem, self.defaults(problem))

    def invalid(self, problem: BoxBlur, config: Config) -> str | None:
        if 255 * problem.window**2 >= _HALF:
            return f"radius {problem.radius}: 16 bits do not hold a window's sum"
        reach = problem.radius * problem.channels
        if reach > _MOST_REACH:
            return f"a window reaches {reach} bytes to either side, at most {_MOST_REACH}"
        if problem.columns % _PIECE:
            return f"rows of {problem.columns} bytes are no whole pieces of {_PIECE}"
        if max(problem.height, problem.columns) > _MOST_INDEX:
            return f"{problem.height} rows of {problem.columns} bytes: their indices are 32-bit"
        if config["RESIDENT_WARPS"] > _MOST_WARPS:
            return (
                f"{config['RESIDENT_WARPS']} warps at once on a multiprocessor, "
                f"at most {_MOST_WARPS} keep their sums in registers"
            )
        needed, room = _shared_bytes(config), self.machine.shared_room(1)
        if needed > room:
            return f"{needed:,} bytes of shared memory a block, at most {room:,}"
        bands = blocks(problem.height, config["ROWS"])
        return f"{bands} bands, at most {MOST_BLOCKS}" if bands > MOST_BLOCKS else None

    def defaults(self, problem: BoxBlur) -> dict[str, int]:
        """Bands so high that all warps run at once."""
        config = super().defaults(problem)
        resident = config["RESIDENT_WARPS"] * self.machine.multiprocessors
        bands = max(1, resident // (self._across(problem, config) * config["WARPS"]))
        rows = blocks(blocks(problem.height, bands), _PIECE) * _PIECE
        return {**config, "ROWS": max(_LEAST_ROWS, min(rows, _MOST_ROWS))}

    def steps(self, problem: BoxBlur, config: Config) -> tuple[Step, ...]:
        grid = (self._across(problem, config), blocks(problem.height, config["ROWS"]), 1)
        launch = Launch(self.kernel(), grid, (32 * config["WARPS"], 1, 1), _shared_bytes(config))
        return (Step(launch, ("image", "blurred", problem.height, problem.width)),)

    def _across(self, problem: BoxBlur, config: Config) -> int:
        """Blocks that make a row."""
        return blocks(problem.columns, _PIECE * config["TILES"] * config["WARPS"])

    def accesses(self, problem: BoxBlur, config: Config) -> dict[str, Accesses]:
        """A band's rows once, with sixteen above it, and a piece on either side of a strip's."""
        rows = problem.height + _PIECE * blocks(problem.height, config["ROWS"])
        strips = blocks(problem.columns, _PIECE * config["TILES"])
        pieces = rows * strips * (config["TILES"] + 2)
        # A tile's terms, and its results in place of them, there and back.
        words = rows / _PIECE * problem.columns / _PIECE * 6
        return {self.kernel(): of_spans(problem, pieces, _PIECE, 0, 8 * words)}


def _shared_bytes(config: Config) -> int:
    """All warps' stages of sixteen rows."""
    return config["WARPS"] * config["STAGES"] * 16 * (_PIECE * config["TILES"] + 3 * _PIECE)


STRATEGY = Mma()
