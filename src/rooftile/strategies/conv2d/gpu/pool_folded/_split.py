"""Rungs that fold the pool with each float32 as two numbers of float16."""

from __future__ import annotations

from rooftile.devices.gpu import Launch
from rooftile.ops import Conv2d
from rooftile.strategies.common.cores import CORES, Cores
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.common.scaled import split_macros
from rooftile.strategies.common.warpgroups import LEAST_REDUCTION, too_short
from rooftile.strategies.conv2d.gpu.pool_folded._float import FloatFolded
from rooftile.strategies.conv2d.gpu.pool_folded._layout import GROUP_MAPS, groups_of
from rooftile.strategies.gpu import Config, Step, Tunable

_MEASURE_THREADS, _SPLIT_THREADS = 32, 256


class SplitFolded(FloatFolded):
    """Three products make one, sums in the cores are short."""

    precision = "ieee"
    prepared = "split"
    least_reduction = LEAST_REDUCTION
    """Sums of no more products are refused."""
    summed = Tunable("SUMMED", (2, 4, 8), 4)

    @property
    def cores(self) -> Cores:
        """See `PoolFolded.cores`."""
        return CORES["fp16"]

    def why_not(self, problem: Conv2d) -> str | None:
        """What rungs in 16 bits refuse, and short sums: their budgets have no room for the split's
        error."""
        return super().why_not(problem) or too_short(problem.reduction, self.least_reduction)

    def macros(self, problem: Conv2d, config: Config) -> dict[str, int | str]:
        """The macros of the folded pool and of the split."""
        split = split_macros(problem.reduction) | {"MEASURE_THREADS": _MEASURE_THREADS}
        return super().macros(problem, config) | split

    def workspace(self, problem: Conv2d, config: Config) -> dict[str, int]:
        """What the kernel reads of the weights, and the span of each map's."""
        behind = GROUP_MAPS * groups_of(problem) + 1
        size = self._packed_size(problem, config) + behind
        return {self.prepared: size, "spans": 2 * problem.maps}

    def preparation(self, problem: Conv2d, config: Config) -> tuple[Step, ...]:
        """Finds the span of each map's weights, then splits them."""
        measure = Launch("measure_weights", (problem.maps, 1, 1), (_MEASURE_THREADS, 1, 1))
        count = self._packed_size(problem, config)
        split = Launch(
            "split_weights", (blocks(count, _SPLIT_THREADS), 1, 1), (_SPLIT_THREADS, 1, 1)
        )
        return (
            Step(measure, ("weights", "spans")),
            Step(split, ("weights", "spans", self.prepared, count)),
        )
