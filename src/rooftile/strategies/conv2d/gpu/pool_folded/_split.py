"""Rungs that fold the pool with scaled numbers of float16: one or, of each float32, two."""

from __future__ import annotations

import math

from rooftile.devices.gpu import Launch
from rooftile.ops import Conv2d
from rooftile.strategies.common.cores import CORES, Cores
from rooftile.strategies.common.folded_pool import GROUP_MAPS, groups_of
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.common.scaled import rounded_macros, split_macros
from rooftile.strategies.common.warpgroups import LEAST_REDUCTION, too_short
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.conv2d.gpu.pool_folded._base import PoolFolded

_SPLIT_THREADS = 256


class ScaledFolded(PoolFolded):
    """Comes before a class that says how bands and weights lie: the cores multiply float16."""

    prepared = "scaled"
    numbers = 1
    """Numbers that stand for one."""

    @property
    def cores(self) -> Cores:
        return CORES["fp16"]

    def macros(self, problem: Conv2d, config: Config) -> dict[str, int | str]:
        of = split_macros if self.numbers == 2 else rounded_macros
        scales = of(problem.reduction) | {"NUMBERS": self.numbers, "SCALED": 1}
        return super().macros(problem, config) | scales | {"SPLIT_THREADS": _SPLIT_THREADS}

    def workspace(self, problem: Conv2d, config: Config) -> dict[str, int]:
        behind = GROUP_MAPS * groups_of(problem) + 1 + _given(problem)
        folded = self._folded_count(problem, config) * self.numbers // 2
        return {self.prepared: folded + behind}

    def preparation(self, problem: Conv2d, config: Config) -> tuple[Step, ...]:
        count = self._folded_count(problem, config) + _given(problem)
        grid = (blocks(count, _SPLIT_THREADS) + 1, 1, 1)
        launch = Launch(self.kernel("split_weights"), grid, (_SPLIT_THREADS, 1, 1), overlaps=True)
        return (Step(launch, ("weights", self.prepared, count)),)


class SplitFolded(ScaledFolded):
    """Three products make one, sums in the cores are short."""

    precision = "ieee"
    prepared = "split"
    numbers = 2
    least_reduction = LEAST_REDUCTION
    """Sums of no more products are refused."""
    summed = Tunable("SUMMED", (2, 4, 8), 4)

    def limits(self, problem: Conv2d) -> str | None:
        return super().limits(problem) or too_short(problem.reduction, self.least_reduction)


def _given(problem: Conv2d) -> int:
    return math.prod(problem.parameter_shapes["weights"])
