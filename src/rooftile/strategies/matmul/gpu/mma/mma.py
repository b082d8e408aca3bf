"""Rungs on tensor cores by ``mma.sync``, for GPUs of compute capability 8.0 and later. Source:
NVIDIA, "Parallel Thread Execution ISA", on ``mma`` and ``cp.async``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from rooftile.analysis.accesses import Accesses, row_stores
from rooftile.analysis.traffic import matmul_tile
from rooftile.devices.gpu import Launch
from rooftile.ops.patterns.matmul import Matmul
from rooftile.strategies.common.cores import MOST_SUMMED
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.common.product_accesses import added_parts, brought, operands
from rooftile.strategies.contract.gpu import Config, Step, Tunable, family
from rooftile.strategies.gemm.gpu.slices import (
    LINE,
    SlicedProduct,
    ThreeNumbers,
    piece_of,
    threads_of,
    tile_bytes,
    tile_of,
)
from rooftile.strategies.matmul.gpu._base import GpuMatmul

_THREADS = 256
"""Threads of a block of the kernel that adds parts."""
_PARTS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
_FEW_TERMS = 256
"""Least terms of a part."""


class Mma(SlicedProduct, GpuMatmul):
    """Takes every sum that some number of parts makes short enough for the cores."""

    name = "mma_{precision}"
    summary = "tensor cores, {numbers} in registers, both matrices as they lie"
    stores: ClassVar[Mapping[str, str]] = {"X_NARROW": "a,b:narrow", "OUT_NARROW": "out:narrow"}
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
            if self.fits(problem, tile):
                break
        return {**tile, "PARTS": self._parts(problem, tile)}

    def _parts(self, problem: Matmul, tile: Config) -> int:
        """Parts that keep the device busy to the end, counted in terms of a tile: to write and read
        a part's sums takes as long as to read some terms."""
        rows, columns = tile_of(tile)
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
        """Terms of a part, in whole slices of elements of ``size`` bytes."""
        terms = LINE // size
        return blocks(blocks(problem.inner, terms), parts) * terms

    def invalid(self, problem: Matmul, config: Config) -> str | None:
        too_long = self._too_long(problem, config["PARTS"], problem.arrays[0].itemsize)
        return super().invalid(problem, config) or too_long

    def macros(self, problem: Matmul, config: Config) -> dict[str, int | str]:
        named = {name: value for name, value in config.items() if name != "PARTS"}
        return {
            **super().macros(problem, named),
            "CORES": self.cores.word,
            "NUMBERS": self.numbers,
            "FINISH_THREADS": _THREADS,
            "A_PIECE": piece_of(problem.arrays[0].shape[1], problem.arrays[0].itemsize),
            "B_PIECE": piece_of(problem.arrays[1].shape[1], problem.arrays[0].itemsize),
        }

    def workspace(self, problem: Matmul, config: Config) -> dict[str, int]:
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
        grid, shared = (_tiles(problem, config), parts, 1), self.shared(problem, config)
        launch = Launch(self.kernel(), grid, (threads_of(config), 1, 1), shared, overlaps=True)
        multiply = Step(launch, ("a", "b", sums, *sizes, share))
        if parts == 1 and self.numbers == 1:
            return (multiply,)
        across = (blocks(problem.rows * problem.columns, _THREADS), 1, 1)
        finish = Launch(self.kernel("finish"), across, (_THREADS, 1, 1), overlaps=True)
        return (multiply, Step(finish, ("a", "b", sums, "out", *sizes, parts)))

    def accesses(self, problem: Matmul, config: Config) -> dict[str, Accesses]:
        """Slices of both matrices once a tile; a warp reads its rows and columns of each term."""
        (rows, columns), size = tile_of(config), problem.arrays[0].itemsize
        counted = matmul_tile(problem.rows, problem.inner, problem.columns, rows, columns)
        pieces = [piece_of(array.shape[1], size) for array in problem.arrays[:2]]
        found = brought(counted.m_loads, size, pieces[0])
        found += brought(counted.n_loads, size, pieces[1])
        terms, warps = LINE // size, threads_of(config) // 32 * _tiles(problem, config)
        read = warps * blocks(problem.inner, terms) * terms
        found += operands(read * (config["WARP_R"] + config["WARP_C"]) * size)
        parts, results = config["PARTS"], problem.rows * problem.columns
        # Four lanes store eight neighbours.
        found += row_stores(problem.columns, problem.rows * parts, lanes=8)
        if parts == 1 and self.numbers == 1:
            return {self.kernel(): found}
        return {self.kernel(): found, self.kernel("finish"): added_parts(results, parts)}

    def shared(self, problem: Matmul, config: Config) -> int:
        """Bytes of a block's stages."""
        (rows, columns), size = tile_of(config), problem.arrays[0].itemsize
        held = tile_bytes(rows, not problem.transpose_a, size)
        return config["STAGES"] * (held + tile_bytes(columns, problem.transpose_b, size))


def _tiles(problem: Matmul, config: Config) -> int:
    rows, columns = tile_of(config)
    return blocks(problem.rows, rows) * blocks(problem.columns, columns)


class MmaIeee(ThreeNumbers, Mma):
    """See `ThreeNumbers`."""

    name = "mma_ieee"
    summary = "tensor cores, float32 as three numbers of bfloat16, both matrices as they lie"

    def _too_long(self, problem: Matmul, parts: int, size: int = 4) -> str | None:
        """No sum is too long: the cores sum up a few terms at a time."""
        return None


STRATEGIES = (*family(Mma(), "fp16", "bf16", "tf32"), MmaIeee())
