"""`sequential`: a thread a line. Source: PMPP, section 11.1; Knuth, "The Art of Computer
Programming", volume 2, 4.2.2 (what a rounding loses)."""

from __future__ import annotations

from rooftile.analysis.accesses import WARP, Accesses, Counted, apart, stored_apart, stored_beside
from rooftile.analysis.cooperation import chain
from rooftile.devices.gpu import Launch
from rooftile.ops.features import features
from rooftile.ops.patterns.scan import Scan
from rooftile.strategies.common.grid import blocks, wide
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.scan.gpu._base import GpuScan


class Sequential(GpuScan):
    """Takes every problem."""

    name = "sequential"
    summary = "a thread a line, its elements one after the other"
    takes = features(
        "axis dtype:* exclusive operator.associative operator.commutative operator:* reverse"
    )
    tunables = (Tunable("BLOCK", (32, 64, 128, 256), 64),)

    def blocks(self, problem: Scan, config: Config) -> int:
        """Blocks of lines."""
        return blocks(problem.lines, config["BLOCK"])

    def limits(self, problem: Scan) -> str | None:
        return None

    def steps(self, problem: Scan, config: Config) -> tuple[Step, ...]:
        grid = (self.blocks(problem, config), 1, 1)
        launch = Launch(self.kernel(), grid, (config["BLOCK"], 1, 1))
        numbers = wide(problem.lines, problem.count, problem.inner)
        return (Step(launch, ("x", "y", *numbers)),)

    def accesses(self, problem: Scan, config: Config) -> Counted:
        """Neighbouring threads read a row apart, unless lines are adjacent."""
        x, y = problem.arrays
        stride = problem.count if problem.inner == 1 else 1
        made = apart(x.size, stride, x.numpy.itemsize) + chain(x.size, problem.count)
        guard = Accesses(divergent_warps=int(problem.lines % WARP != 0))
        side = stride == 1
        stored = stored_beside(y.size, y.numpy.itemsize) if side else stored_apart(y.size)
        return {self.kernel(): made + stored + guard}


STRATEGY = Sequential()
