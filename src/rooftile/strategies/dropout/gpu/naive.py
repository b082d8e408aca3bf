"""`naive`: one thread an element, which draws four words for one.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., section 2.3.
"""

from __future__ import annotations

from rooftile.ops.layers.dropout import Dropout
from rooftile.strategies.contract.gpu import Config, Step
from rooftile.strategies.dropout.gpu._base import GpuDropout


class Naive(GpuDropout):
    """A counter gives four words, of which a thread needs one."""

    name = "naive"
    summary = "one thread an element, which draws four words for one"

    def steps(self, problem: Dropout, config: Config) -> tuple[Step, ...]:
        """One kernel, a thread an element."""
        return self.over(problem, 1, config)


STRATEGY = Naive()
