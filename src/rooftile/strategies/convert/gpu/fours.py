"""`fours`: four neighbouring numbers a thread; where 16 bits are widened, each access takes all.

Source: Luitjens, "CUDA Pro Tip: Increase Performance with Vectorized Memory Access", 2013.
"""

from __future__ import annotations

from rooftile.ops.patterns.convert import Convert
from rooftile.strategies.contract.gpu import Config, Step
from rooftile.strategies.convert.gpu._base import GpuConvert


class Fours(GpuConvert):
    """The last numbers, which are no four, are one thread's."""

    name = "fours"
    summary = "four neighbouring numbers a thread"

    def steps(self, problem: Convert, config: Config) -> tuple[Step, ...]:
        """One kernel, a thread four numbers."""
        return self.over(problem, 4, config)


STRATEGY = Fours()
