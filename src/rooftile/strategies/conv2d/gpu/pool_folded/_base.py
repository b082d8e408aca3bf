"""The base of rungs that fold the pool, of any precision."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace

from rooftile.devices.gpu import Launch
from rooftile.ops import Conv2d
from rooftile.ops.features import features
from rooftile.strategies.common.cores import CORES, Cores
from rooftile.strategies.common.folded_pool import (
    does_not_fold,
    groups_of,
    halves_of,
    slabs_of,
)
from rooftile.strategies.common.warpgroups import elements, wgmma, wgmma_wait
from rooftile.strategies.contract.costs import Work
from rooftile.strategies.contract.gpu import Config, Step
from rooftile.strategies.conv2d.gpu._base import GpuConv2d

_GROUP = 8
"""Maps that a warpgroup's instruction multiplies at least."""
MOST_WARPS = 16
ENOUGH_BLOCKS = 2500
"""Number of blocks from which a block may take several bands and overlap their loads."""


class PoolFolded(GpuConv2d):
    """Takes few channels, pools whose windows tile the image in even sizes, and no strides."""

    takes = features("activation:* padding pool:average,max")

    devices = ("cuda",)
    least_architecture = 80
    tensor_cores = True
    prepared = "rounded"
    """The array of the folded weights as the cores multiply them."""
    wgmma = False
    """True if four warps multiply together, by Hopper's instructions."""
    most_slabs: int
    """Largest number of a patch's slabs whose weights a thread, or a block, can keep."""

    @property
    def cores(self) -> Cores:
        return CORES[self.precision]

    def _halves(self, problem: Conv2d) -> int:
        """Into how many halves a band is cut."""
        return halves_of(problem) if self.wgmma else 2

    def _folded_count(self, problem: Conv2d, config: Config) -> int:
        """Number of folded weights."""
        return 256 * groups_of(problem) * slabs_of(problem)

    @abstractmethod
    def _grid(self, problem: Conv2d, config: Config) -> int:
        """Number of blocks."""

    @abstractmethod
    def _block_bytes(self, problem: Conv2d, config: Config) -> int:
        """Dynamic shared memory of a block, the weights' where they lie there."""

    def limits(self, problem: Conv2d) -> str | None:
        reason = problem.why_not_first or does_not_fold(problem)
        if reason is not None:
            return reason
        slabs = slabs_of(problem)
        if slabs > self.most_slabs:
            return f"{slabs} slabs of weights, where {self.most_slabs} fit"
        reason = self.invalid(problem, self.config(problem))
        return f"{reason}, even with its smallest tile" if reason else None

    def work(self, problem: Conv2d) -> Work:
        """See `Strategy.work`: a warpgroup multiplies whole groups of maps."""
        work = super().work(problem)
        filled = -(-problem.maps // _GROUP) * _GROUP / problem.maps if self.wgmma else 1.0
        return replace(work, flops=filled * work.flops, steps=filled * work.steps)

    def macros(self, problem: Conv2d, config: Config) -> dict[str, int | str]:
        macros = {**super().macros(problem, config), "CORES": self.cores.word}
        macros |= {"WGMMA": int(self.wgmma), "BESIDE": int(self._halves(problem) == 1)}
        if self.wgmma:
            macros |= _products(groups_of(problem), self.cores)
        return macros

    def steps(self, problem: Conv2d, config: Config) -> tuple[Step, ...]:
        grid, threads = (self._grid(problem, config), 1, 1), (32 * config["WARPS"], 1, 1)
        shared = self._block_bytes(problem, config)
        launch = Launch(self.kernel(), grid, threads, shared, overlaps=True)
        return (Step(launch, ("x", self.prepared, "bias", "out", problem.batch)),)


def _products(groups: int, cores: Cores) -> dict[str, int | str]:
    """The instructions for 16 columns a group of maps: sums = a b, sums += a b, the wait."""
    sums, a = elements("sum", 8 * groups), elements("a", 4)
    return {
        "WGMMA_FIRST(sum, a, b)": wgmma(cores, sums, a, "b", False),
        "WGMMA_NEXT(sum, a, b)": wgmma(cores, sums, a, "b", True),
        "WGMMA_WAIT_FOR(sum)": wgmma_wait(sums, "0"),
    }
