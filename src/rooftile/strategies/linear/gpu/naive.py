"""`naive`: see `NaiveProduct`; each thread walks along its own row of weights."""

from __future__ import annotations

from rooftile.ops import Linear
from rooftile.strategies.common.grid import tile_of
from rooftile.strategies.contract.gpu import Config, Tunable
from rooftile.strategies.gemm.gpu.naive import NaiveProduct
from rooftile.strategies.linear.gpu._base import LinearProduct


class Naive(NaiveProduct, LinearProduct):
    """Neighbouring threads read weights that are a row apart."""

    name = "naive"
    summary = "one thread an output, everything from global memory"
    tunables = (Tunable("BLOCK", (32, 64, 128, 256), 128),)

    def block(self, problem: Linear, config: Config) -> tuple[int, int, int]:
        """BLOCK threads: as many along a row as its outputs occupy, the others on further rows."""
        across = tile_of(problem.outputs, 1, config["BLOCK"])
        return across, config["BLOCK"] // across, 1


STRATEGY = Naive()
