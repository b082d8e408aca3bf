"""`corner_turned`: see `CornerTurnedProduct`."""

from __future__ import annotations

from rooftile.ops.patterns.matmul import Matmul
from rooftile.strategies.gemm.gpu.corner_turned import CornerTurnedProduct
from rooftile.strategies.matmul.gpu._base import GpuMatmul


class CornerTurned(CornerTurnedProduct, GpuMatmul):
    """Takes problems with a transposed matrix."""

    name = "corner_turned"
    summary = "tiles of a transposed matrix, loaded along its memory"

    def limits(self, problem: Matmul) -> str | None:
        """Matrices neither of which is transposed."""
        if not (problem.transpose_a or problem.transpose_b):
            return "neither matrix lies transposed: that is tiled_any"
        return super().limits(problem)


STRATEGY = CornerTurned()
