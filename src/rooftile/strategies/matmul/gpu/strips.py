"""`strips`: tiles a single term deep.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., section 5.4, with
tiles of another shape.
"""

from __future__ import annotations

from rooftile.analysis.accesses import Accesses
from rooftile.ops.patterns.matmul import Matmul
from rooftile.strategies.contract.gpu import Config, Tunable
from rooftile.strategies.gemm.gpu.accesses import of_strips
from rooftile.strategies.matmul.gpu._base import SquareMatmul


class Strips(SquareMatmul):
    """Takes every problem."""

    name = "strips"
    summary = "tiles a single term deep"
    tunables = (Tunable("TILE", (8, 16, 32), 16),)

    def accesses(self, problem: Matmul, config: Config) -> dict[str, Accesses]:
        """As few loads as `tiled_any`'s, by a block's first row of threads alone."""
        return {self.kernel(): of_strips(problem, config["TILE"])}


STRATEGY = Strips()
