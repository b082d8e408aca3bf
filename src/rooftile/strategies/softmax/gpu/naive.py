"""Rung 1, `naive`: one thread a row.

Source: Goodfellow, Bengio, Courville, "Deep Learning" (2016), section 4.1 (the stable form).
"""

from __future__ import annotations

from rooftile.devices.gpu import Launch
from rooftile.ops import Softmax
from rooftile.strategies._grid import blocks
from rooftile.strategies.gpu import Config, Step, Tunable
from rooftile.strategies.softmax.gpu._base import GpuSoftmax


class Naive(GpuSoftmax):
    """Neighbouring threads read a whole row apart."""

    name = "naive"
    order = 1
    summary = "one thread a row"
    tunables = (Tunable("BLOCK", (32, 64, 128, 256), 64),)

    def steps(self, problem: Softmax, config: Config) -> tuple[Step, ...]:
        """One kernel, a thread a row."""
        grid = (blocks(problem.batch, config["BLOCK"]), 1, 1)
        return (
            Step(Launch("softmax", grid, (config["BLOCK"], 1, 1)), ("x", "out", problem.batch)),
        )


STRATEGY = Naive()
