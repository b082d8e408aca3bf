"""`naive`: one thread a number.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., section 2.3.
"""

from __future__ import annotations

from rooftile.ops.patterns.convert import Convert
from rooftile.strategies.contract.gpu import Config, Step
from rooftile.strategies.convert.gpu._base import GpuConvert


class Naive(GpuConvert):
    """Each access moves a number."""

    name = "naive"
    summary = "one thread a number"

    def steps(self, problem: Convert, config: Config) -> tuple[Step, ...]:
        """One kernel, a thread a number."""
        return self.over(problem, 1, config)


STRATEGY = Naive()
