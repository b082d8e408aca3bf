"""The matrix product on Hopper's warpgroups, b laid before.

Source: for the split products Ootomo and Yokota, "Recovering single precision accuracy from Tensor
Cores while surpassing the FP32 theoretical peak performance", IJHPCA 36 (2022).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from rooftile.analysis.accesses import Accesses
from rooftile.devices.gpu import Launch
from rooftile.ops import Linear, Precision
from rooftile.ops.patterns.matmul import Matmul
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.common.product_accesses import laid
from rooftile.strategies.contract.gpu import Config, Step, family
from rooftile.strategies.gemm.gpu.warpgroups.product import THREADS, WarpgroupsProduct
from rooftile.strategies.gemm.gpu.warpgroups.split import SplitProduct
from rooftile.strategies.matmul.gpu._base import GpuMatmul
from rooftile.strategies.matmul.gpu._turn import turning, turning_accesses


class Warpgroups(WarpgroupsProduct, GpuMatmul):
    """Takes sums of whole 16 bytes; a transposed a is turned before."""

    name = "warpgroups_{precision}"
    summary = "Hopper's warpgroups, b turned and rounded to {numbers} in one pass before"

    def at(self, precision: Precision) -> Self:
        """See `GpuStrategy.at`: operands are laid in a pass before, from float32."""
        member = super().at(precision)
        member.narrow = ""
        return member

    def layer(self, problem: Matmul) -> Linear:
        """a is its input, b its weights."""
        return Linear(problem.rows, problem.inner, problem.columns)

    def names(self, problem: Matmul) -> Mapping[str, Any]:
        """See `layer`; there is no bias, so none is read."""
        x = "turned" if problem.transpose_a else "a"
        return {"x": x, "weights": "b", "bias": np.uint64(0)}

    def macros(self, problem: Matmul, config: Config) -> dict[str, int | str]:
        by_input = int(not problem.transpose_b)
        return {**super().macros(problem, config), "UNBIASED": 1, "WEIGHTS_BY_INPUT": by_input}

    def workspace(self, problem: Matmul, config: Config) -> dict[str, int]:
        turned = {"turned": problem.rows * problem.inner} if problem.transpose_a else {}
        return super().workspace(problem, config) | turned

    def steps(self, problem: Matmul, config: Config) -> tuple[Step, ...]:
        shares = self.shares(problem, config)
        planes = (shares.across * shares.slices, 1, 1)
        return (
            *((turning(self, problem.arrays[0], "turned"),) if problem.transpose_a else ()),
            *self.laying(problem, Launch(self.kernel("lay"), planes, (THREADS, 1, 1))),
            *super().steps(problem, config),
        )

    def accesses(self, problem: Matmul, config: Config) -> dict[str, Accesses]:
        """And a turned, and b laid, element by element."""
        shares, b = self.shares(problem, config), problem.arrays[1].size
        tile = shares.tile
        made = shares.across * tile.outputs * shares.slices * tile.slice
        found = super().accesses(problem, config)
        found[self.kernel("lay")] = laid(b, tile.numbers * made, tile.cores.bytes)
        if problem.transpose_a:
            found[self.kernel("turn")] = turning_accesses(problem.arrays[0])
        return found

    def laying(self, problem: Matmul, lay: Launch) -> tuple[Step, ...]:
        """The steps before the product."""
        return (Step(lay, ("b", "rounded")),)


class WarpgroupsIeee(SplitProduct, Warpgroups):
    """A number is split in two of scaled float16, and three products stand for one."""

    name = "warpgroups_ieee"
    summary = "Hopper's warpgroups, float32 as two numbers of scaled float16, b laid before"

    def accesses(self, problem: Matmul, config: Config) -> dict[str, Accesses]:
        """And b twice for the scales of its columns: the greatest number, and what is too small."""
        measure = self.kernel("measure_weights" if problem.transpose_b else "measure_columns")
        found = super().accesses(problem, config)
        return {**found, measure: laid(2 * problem.arrays[1].size, 2 * problem.columns, 4)}

    def laying(self, problem: Matmul, lay: Launch) -> tuple[Step, ...]:
        """Find the scale of each column, then split and lay b."""
        if problem.transpose_b:
            warps = blocks(32 * problem.columns, THREADS)
            measure = Launch(self.kernel("measure_weights"), (warps, 1, 1), (THREADS, 1, 1))
        else:
            measure = Launch(
                self.kernel("measure_columns"), (blocks(problem.columns, 32), 1, 1), (32, 32, 1)
            )
        return (Step(measure, ("b", "row_scales")), Step(lay, ("b", "row_scales", "numbers")))


STRATEGIES = (*family(Warpgroups(), "fp16", "bf16", "tf32"), WarpgroupsIeee())
