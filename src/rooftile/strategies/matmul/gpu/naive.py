"""`naive` and `naive_transposed`: see `NaiveProduct`."""

from __future__ import annotations

from rooftile.strategies.contract.gpu import Tunable
from rooftile.strategies.gemm.gpu.naive import NaiveProduct
from rooftile.strategies.matmul.gpu._base import GpuMatmul


class Naive(NaiveProduct, GpuMatmul):
    """Threads along x make neighbours of a row."""

    name = "naive"
    summary = "one thread an element, neighbours in a row, everything from global memory"
    tunables = (Tunable("BLOCK_X", (8, 16, 32, 64), 16), Tunable("BLOCK_Y", (1, 4, 8, 16), 16))


class NaiveTransposed(Naive):
    """Slower than `naive`: it shows what it costs where the loads and stores of a warp are not
    neighbours in memory."""

    name = "naive_transposed"
    summary = "the same with neighbours in a column: what uncoalesced accesses cost"
    along_rows = True


STRATEGIES = (Naive(), NaiveTransposed())
