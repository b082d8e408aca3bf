"""`naive`: one thread a row.

Source: Goodfellow, Bengio, Courville, "Deep Learning" (2016), section 4.1 (the stable form).
"""

from __future__ import annotations

from rooftile.analysis.accesses import (
    SECTOR_FLOATS,
    Accesses,
    row_loads,
    row_stores,
    scattered_loads,
)
from rooftile.analysis.divergence import guard_1d
from rooftile.devices.gpu import Launch
from rooftile.ops import Softmax
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.softmax.gpu._base import GpuSoftmax


class Naive(GpuSoftmax):
    """Neighbouring threads read a whole row apart."""

    name = "naive"
    summary = "one thread a row"
    tunables = (Tunable("BLOCK", (32, 64, 128, 256), 64),)

    def steps(self, problem: Softmax, config: Config) -> tuple[Step, ...]:
        grid = (blocks(problem.batch, config["BLOCK"]), 1, 1)
        return (
            Step(Launch(self.kernel(), grid, (config["BLOCK"], 1, 1)), ("x", "out", problem.batch)),
        )

    def accesses(self, problem: Softmax, config: Config) -> dict[str, Accesses]:
        """A lane a row: the inputs twice, the exponentials written, read and written again."""
        rows, classes = problem.batch, problem.classes
        if classes >= SECTOR_FLOATS:
            found = scattered_loads(3 * rows * classes)
            found += Accesses(stores=2 * rows * classes, store_sectors=2 * rows * classes)
        else:
            found = row_loads(rows, 3 * classes, stride=classes)
            found += row_stores(rows, 2 * classes, stride=classes)
        last = len(guard_1d(rows, 1, config["BLOCK"]))
        return {self.kernel(): found + Accesses(divergent_warps=last)}


STRATEGY = Naive()
