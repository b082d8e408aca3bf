"""`shared_tables`: four neighbouring pixels a thread, and all tables in shared memory.

Source: Luitjens, "CUDA Pro Tip: Increase Performance with Vectorized Memory Access", 2013.
"""

from __future__ import annotations

from rooftile.ops.patterns.standardise import Standardise
from rooftile.strategies.contract.gpu import Config, Step
from rooftile.strategies.standardise.gpu._base import GpuStandardise

_MOST_TABLES = 40
"""Of 1 kB, so that 48 kB hold them."""


class SharedTables(GpuStandardise):
    """The last pixels, which are no four, are one thread's."""

    name = "shared_tables"
    summary = "four neighbouring pixels a thread, all tables in shared memory"

    def limits(self, problem: Standardise) -> str | None:
        """And more tables than shared memory holds."""
        if problem.tables > _MOST_TABLES:
            return f"{problem.tables} tables, at most {_MOST_TABLES} in shared memory"
        return super().limits(problem)

    def steps(self, problem: Standardise, config: Config) -> tuple[Step, ...]:
        """One kernel, a thread four pixels."""
        return self.over(problem, 4, config)


STRATEGY = SharedTables()
