"""`warpgroups_ieee`: Hopper's warpgroups with float32's error.

Source: for the split products Ootomo and Yokota, "Recovering single precision accuracy from
Tensor Cores while surpassing the FP32 theoretical peak performance", IJHPCA 36 (2022).
"""

from __future__ import annotations

from rooftile.analysis.accesses import Accesses
from rooftile.devices.gpu import Launch
from rooftile.ops.patterns.matmul import Matmul
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.common.product_accesses import laid
from rooftile.strategies.contract.gpu import Config, Step
from rooftile.strategies.gemm.gpu.warpgroups.product import THREADS
from rooftile.strategies.gemm.gpu.warpgroups.split import SplitProduct
from rooftile.strategies.matmul.gpu._base import few_terms
from rooftile.strategies.matmul.gpu.warpgroups.warpgroups import Warpgroups


class WarpgroupsIeee(SplitProduct, Warpgroups):
    """A number is split in two of scaled float16, and three products stand for one."""

    name = "warpgroups_ieee"
    summary = "Hopper's warpgroups, float32 as two numbers of scaled float16, b laid before"

    def why_slow(self, problem: Matmul) -> str | None:
        """Few products, or terms: it has three launches."""
        return few_terms(problem) or super().why_slow(problem)

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


STRATEGY = WarpgroupsIeee()
