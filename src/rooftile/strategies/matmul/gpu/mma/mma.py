"""Rungs on tensor cores by ``mma.sync``, for GPUs of compute capability 8.0 and later.

Source: NVIDIA, "Parallel Thread Execution ISA", on ``mma`` and ``cp.async``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from rooftile.analysis.accesses import Accesses, row_stores
from rooftile.analysis.traffic import matmul_tile
from rooftile.devices.gpu import Launch
from rooftile.ops.patterns.matmul import Matmul
from rooftile.strategies.common.cores import MOST_SUMMED, MmaStrategy
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.common.product_accesses import added_parts, brought, operands
from rooftile.strategies.common.warpgroups import too_short
from rooftile.strategies.contract.gpu import Config, Step, Tunable, family
from rooftile.strategies.matmul.gpu._base import GpuMatmul, few_terms

_THREADS = 256
"""Threads of a block of the kernel that adds parts."""
_LINE = 128
"""Bytes of a slice's terms."""
_PARTS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
_OTHER_REGISTERS = 48
"""Registers of a thread beside its sums and columns."""
_FEW_TERMS = 256
"""Least terms of a part."""


class Mma(MmaStrategy, GpuMatmul):
    """Takes every sum that some number of parts makes short enough for the cores."""

    name = "mma_{precision}"
    summary = "tensor cores, {numbers} in registers, both matrices as they lie"
    stores: ClassVar[Mapping[str, str]] = {"X_NARROW": "a,b:narrow", "OUT_NARROW": "out:narrow"}
    numbers = 1
    """How many numbers of the cores' type stand for one value."""
    tunables = (
        Tunable("WARP_R", (16, 32, 64), 64),
        Tunable("WARP_C", (16, 32, 64), 32),
        Tunable("WARPS_R", (1, 2, 4), 2),
        Tunable("WARPS_C", (1, 2, 4, 8), 4),
        Tunable("STAGES", (2, 3, 4), 3),
        Tunable("BLOCKS", (1, 2), 1),
        Tunable("PARTS", _PARTS, 1),
    )

    def limits(self, problem: Matmul) -> str | None:
        """Sums that no number of parts makes short enough, more tiles than a grid has, little
        shared memory."""
        if self._too_long(problem, _PARTS[-1]):
            return f"the cores sum up to {MOST_SUMMED} products in each of {_PARTS[-1]} parts"
        return super().limits(problem) or self.unfit(problem)

    def defaults(self, problem: Matmul) -> dict[str, int]:
        """Wide tiles of few rows, where there are no more, so that b passes once; square ones
        else; parts where those are few."""
        tile = {"WARP_R": 64, "WARP_C": 32, "WARPS_R": 2, "WARPS_C": 4, "STAGES": 3}
        if problem.rows <= 64:
            tile |= {
                "WARP_R": max(16, min(64, 1 << (problem.rows - 1).bit_length())),
                "WARPS_R": 1,
                "STAGES": 4,
            }
        tile |= {"BLOCKS": 2 if problem.rows <= 64 or self.numbers == 1 else 1, "PARTS": 1}
        # Multiprocessors before Hopper's have less shared memory.
        for change in ({}, {"BLOCKS": 1}, {"STAGES": 2}):
            tile |= change
            if self._fits(problem, tile):
                break
        return {**tile, "PARTS": self._parts(problem, tile)}

    def _parts(self, problem: Matmul, tile: Config) -> int:
        """Parts that keep the device busy to the end, counted in terms of a tile: to write and read
        a part's sums takes as long as to read some terms."""
        rows, columns = _tile(tile)
        sums = 2 * rows * columns // (rows + columns)
        resident = tile["BLOCKS"] * self.machine.multiprocessors

        def terms(parts: int) -> int:
            rounds = blocks(parts * _tiles(problem, tile), resident)
            return rounds * (blocks(problem.inner, parts) + (sums if parts > 1 else 0))

        possible = [p for p in _PARTS if p == 1 or p * _FEW_TERMS <= problem.inner]
        short = [p for p in possible if not self._too_long(problem, p)]
        return min(short or [_PARTS[-1]], key=terms)

    def _too_long(self, problem: Matmul, parts: int, size: int = 4) -> str | None:
        terms = self._share(problem, parts, size)
        if terms <= MOST_SUMMED:
            return None
        return f"{terms} products summed by the cores, at most {MOST_SUMMED}"

    def _share(self, problem: Matmul, parts: int, size: int) -> int:
        """Terms of a part, in whole slices of elements of so many bytes."""
        terms = _LINE // size
        return blocks(blocks(problem.inner, terms), parts) * terms

    def invalid(self, problem: Matmul, config: Config) -> str | None:
        """Threads, shared memory, registers, sums too long for the cores."""
        threads = _threads(config)
        if threads > 512:
            return f"{threads} threads a block, at most 512"
        if not self._fits(problem, config):
            shared = self._shared(problem, config)
            return f"{config['BLOCKS']} blocks of {shared} bytes of shared memory"
        held = config["WARP_R"] * config["WARP_C"] // 32 + self.numbers * config["WARP_C"] // 4
        room = self.machine.register_room(threads * config["BLOCKS"])
        if held + _OTHER_REGISTERS > min(255, room):
            return f"{held} registers of products and sums a thread, {room} registers in all"
        return self._too_long(problem, config["PARTS"], problem.arrays[0].itemsize)

    def macros(self, problem: Matmul, config: Config) -> dict[str, int | str]:
        """How the matrices lie, the cores' type, the tunables but for the parts."""
        named = {name: value for name, value in config.items() if name != "PARTS"}
        return {
            **super().macros(problem, named),
            "CORES": self.cores.word,
            "NUMBERS": self.numbers,
            "FINISH_THREADS": _THREADS,
            "A_PIECE": _piece(problem.arrays[0].shape[1], problem.arrays[0].itemsize),
            "B_PIECE": _piece(problem.arrays[1].shape[1], problem.arrays[0].itemsize),
        }

    def workspace(self, problem: Matmul, config: Config) -> dict[str, int]:
        """Every part's sums, where there are several."""
        parts = config["PARTS"]
        return {"sums": parts * problem.rows * problem.columns} if parts > 1 else {}

    def steps(self, problem: Matmul, config: Config) -> tuple[Step, ...]:
        """One kernel over tiles and parts; another that adds parts and mends what is not finite,
        where there are several or numbers are split."""
        parts, sizes = config["PARTS"], (problem.rows, problem.inner, problem.columns)
        sums, share = (
            "sums" if parts > 1 else "out",
            self._share(problem, parts, problem.arrays[0].itemsize),
        )
        grid, shared = (_tiles(problem, config), parts, 1), self._shared(problem, config)
        launch = Launch(self.kernel(), grid, (_threads(config), 1, 1), shared, overlaps=True)
        multiply = Step(launch, ("a", "b", sums, *sizes, share))
        if parts == 1 and self.numbers == 1:
            return (multiply,)
        across = (blocks(problem.rows * problem.columns, _THREADS), 1, 1)
        finish = Launch(self.kernel("finish"), across, (_THREADS, 1, 1), overlaps=True)
        return (multiply, Step(finish, ("a", "b", sums, "out", *sizes, parts)))

    def accesses(self, problem: Matmul, config: Config) -> dict[str, Accesses]:
        """Slices of both matrices once a tile; a warp reads its rows and columns of each term."""
        (rows, columns), size = _tile(config), problem.arrays[0].itemsize
        counted = matmul_tile(problem.rows, problem.inner, problem.columns, rows, columns)
        pieces = [_piece(array.shape[1], size) for array in problem.arrays[:2]]
        found = brought(counted.m_loads, size, pieces[0])
        found += brought(counted.n_loads, size, pieces[1])
        terms, warps = _LINE // size, _threads(config) // 32 * _tiles(problem, config)
        read = warps * blocks(problem.inner, terms) * terms
        found += operands(read * (config["WARP_R"] + config["WARP_C"]) * size)
        parts, results = config["PARTS"], problem.rows * problem.columns
        # Four lanes store eight neighbours.
        found += row_stores(problem.columns, problem.rows * parts, lanes=8)
        if parts == 1 and self.numbers == 1:
            return {self.kernel(): found}
        return {self.kernel(): found, self.kernel("finish"): added_parts(results, parts)}

    def _fits(self, problem: Matmul, config: Config) -> bool:
        """Whether multiprocessors have the shared memory of their blocks."""
        return self._shared(problem, config) <= self.machine.shared_room(config["BLOCKS"])

    def _shared(self, problem: Matmul, config: Config) -> int:
        """Bytes of a block's stages."""

        def tile(width: int, along: bool) -> int:
            # However many bytes an element has, a line of terms has _LINE.
            return width * (_LINE + 16) if along else _LINE * (width + 8)

        rows, columns = _tile(config)
        held = tile(rows, not problem.transpose_a) + tile(columns, problem.transpose_b)
        return config["STAGES"] * held


def _tile(config: Config) -> tuple[int, int]:
    """Rows and columns of a block's results."""
    return config["WARP_R"] * config["WARPS_R"], config["WARP_C"] * config["WARPS_C"]


def _tiles(problem: Matmul, config: Config) -> int:
    rows, columns = _tile(config)
    return blocks(problem.rows, rows) * blocks(problem.columns, columns)


def _threads(config: Config) -> int:
    return 32 * config["WARPS_R"] * config["WARPS_C"]


def _piece(length: int, size: int) -> int:
    """Elements of a copy, of 16 bytes or 4 where lines are whole ones: then they begin so."""
    return next((n for n in (16 // size, 4 // size) if length % n == 0), 1)


class MmaIeee(Mma):
    """A number is split in three of bfloat16, which have its range and together its bits."""

    name = "mma_ieee"
    multiplied = "bf16"
    numbers = 3
    summary = "tensor cores, float32 as three numbers of bfloat16, both matrices as they lie"

    def limits(self, problem: Matmul) -> str | None:
        """Short sums: their budgets have no room for what the cores cut off."""
        return too_short(problem.reduction) or super().limits(problem)

    def why_slow(self, problem: Matmul) -> str | None:
        """Few products of few terms: there are few of its tiles."""
        return few_terms(problem)

    def _too_long(self, problem: Matmul, parts: int, size: int = 4) -> str | None:
        """No sum is too long: the cores sum up a few terms at a time."""
        return None


STRATEGIES = (*family(Mma(), "fp16", "bf16", "tf32"), MmaIeee())
