"""Chains of Hopper's warpgroup products, whose rate is a ceiling: ``gpu/wgmma.cu``.

Source: NVIDIA, "Parallel Thread Execution ISA", on ``wgmma``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rooftile.devices.gpu import Launch
from rooftile.ops import Float32, narrowed, rounded
from rooftile.strategies.common.cores import CORES
from rooftile.strategies.common.warpgroups import elements, wgmma

GROUPS = (2, 3)
"""Warpgroups of a block: each is tried, and the faster counts."""
ARCHITECTURE = "sm_90"
"""The only architecture that has these instructions."""
_COLUMNS, _STAGES, _STEPS = 256, 4, 512
"""Columns of a product, pieces of a row, and how often a launch multiplies all of them."""


@dataclass(frozen=True)
class Chains:
    """The products of one launch."""

    precision: str
    groups: int
    steps: int = _STEPS

    @property
    def depth(self) -> int:
        """Terms of a sum: the numbers of one row in all stages."""
        return _STAGES * 128 // self._bytes

    @property
    def rows(self) -> int:
        """Rows of a block's sums, which have `_COLUMNS` columns."""
        return 64 * self.groups

    def flops(self, blocks: int) -> int:
        """FLOP of a launch; a multiply-add is two."""
        return 2 * blocks * self.steps * self.rows * _COLUMNS * self.depth

    def macros(self) -> dict[str, int | str]:
        """Sizes, and the instruction."""
        return {
            "WARPGROUPS": self.groups,
            "COLUMNS": _COLUMNS,
            "STAGES": _STAGES,
            "STEPS": self.steps,
            "WGMMA(sum, a, b, more)": wgmma(
                CORES[self.precision], elements("(sum)", _COLUMNS // 2), ["a"], "b", "more"
            ),
        }

    def launch(self, blocks: int) -> Launch:
        """A launch of ``blocks`` blocks."""
        shared = 128 * _STAGES * (self.rows + _COLUMNS)
        return Launch("wgmma_chains", (blocks, 1, 1), (128 * self.groups, 1, 1), shared)

    def values(self) -> Float32:
        """Standard normal numbers [stages][rows + columns][numbers in 128 bytes]. Power, and so the
        clock, depends on the data; problems have data like these."""
        shape = (_STAGES, self.rows + _COLUMNS, 128 // self._bytes)
        made = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
        return rounded(made, self.precision)

    def stored(self, values: Float32) -> NDArray[np.float32]:
        """The bits of values in the cores' type, as the kernel reads them."""
        if self._bytes == 4:
            return values
        return narrowed(values, self.precision).view(np.float32)

    def out(self, blocks: int) -> tuple[int, int, int]:
        """The shape of the results."""
        return (blocks, self.rows, _COLUMNS)

    @property
    def _bytes(self) -> int:
        return CORES[self.precision].bytes
