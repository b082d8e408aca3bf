"""Small products on tensor cores by ``mma.sync``, for GPUs of compute capability 8.0 and later."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from rooftile.analysis.accesses import Accesses
from rooftile.analysis.traffic import matmul_tile
from rooftile.ops.patterns.matmul import Matmul
from rooftile.strategies.common.cores import MOST_SUMMED, MmaStrategy
from rooftile.strategies.common.product_accesses import brought
from rooftile.strategies.common.warpgroups import too_short
from rooftile.strategies.contract.gpu import Config, Tunable, family
from rooftile.strategies.matmul.gpu._base import WarpTiles

_LINE = 64
"""Bytes of a line that are a warp's terms."""
_PIECE = 16
"""Bytes in which lanes load."""
_FEW_WARPS, _WARPS = 4, 8


class OwnTerms(MmaStrategy, WarpTiles):
    """Takes every problem whose sums are short enough for the cores."""

    name = "own_terms_{precision}"
    summary = (
        "small tiles on tensor cores, a warp its own terms, {numbers} from memory to registers"
    )
    stores: ClassVar[Mapping[str, str]] = {"X_NARROW": "a,b:narrow", "OUT_NARROW": "out:narrow"}
    numbers = 1
    """Numbers of the cores' type that stand for one value."""
    tunables = (Tunable("WARPS", (_FEW_WARPS, _WARPS, 16), _WARPS),)

    def limits(self, problem: Matmul) -> str | None:
        if problem.inner > MOST_SUMMED:
            return f"{problem.inner} products summed by the cores, at most {MOST_SUMMED}"
        return super().limits(problem)

    def defaults(self, problem: Matmul) -> dict[str, int]:
        """Few warps where blocks share multiprocessors, or more would have no terms."""
        terms = _FEW_WARPS * _LINE // (2 if self.narrow else 4)
        few = self.tiles_a_multiprocessor(problem) > 1 or problem.inner <= terms
        return {"WARPS": _FEW_WARPS if few else _WARPS}

    def macros(self, problem: Matmul, config: Config) -> dict[str, int | str]:
        size = problem.arrays[0].itemsize
        whole = [int(array.shape[1] * size % _PIECE == 0) for array in problem.arrays[:2]]
        return {
            **super().macros(problem, config),
            "CORES": self.cores.word,
            "NUMBERS": self.numbers,
            "A_WHOLE": whole[0],
            "B_WHOLE": whole[1],
            "PAIRED": int(problem.columns % 2 == 0),
        }

    def accesses(self, problem: Matmul, config: Config) -> dict[str, Accesses]:
        """Lines of terms of both matrices once a tile, and at the end every warp's sums."""
        tile = self.tile(problem, config)
        counted = matmul_tile(problem.rows, problem.inner, problem.columns, *tile)
        found = brought(counted.m_loads + counted.n_loads, problem.arrays[0].itemsize)
        return {self.kernel(): found + self.joined(problem, config)}


class OwnTermsIeee(OwnTerms):
    """A number is split in two of TF32, which have its range and together 22 of its bits."""

    name = "own_terms_ieee"
    multiplied = "tf32"
    numbers = 2
    summary = "small tiles on tensor cores, a warp its own terms, float32 as two numbers of TF32"

    def limits(self, problem: Matmul) -> str | None:
        return too_short(problem.reduction) or super().limits(problem)


STRATEGIES = (
    *family(OwnTerms(), "fp16", "bf16", "tf32"),
    OwnTermsIeee(),
)
