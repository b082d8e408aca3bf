"""`constant`: weights in constant memory.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed.,
section 7.3.
"""

from __future__ import annotations

from rooftile.analysis.accesses import Accesses
from rooftile.ops import Conv2d
from rooftile.strategies.contract.gpu import Config, Step
from rooftile.strategies.conv2d.gpu._accesses import thread_a_result
from rooftile.strategies.conv2d.gpu._constant import ConstantWeights
from rooftile.strategies.conv2d.gpu.naive import Naive


class Constant(ConstantWeights, Naive):
    """A thread an output, as in `naive`."""

    name = "constant"
    family = "constant_memory"  # `constant` is a word of OpenCL C.
    summary = "weights in constant memory, whose cache serves a warp with one read"

    def steps(self, problem: Conv2d, config: Config) -> tuple[Step, ...]:
        """A launch a slice, a thread an output of its maps."""
        (whole,) = Naive.steps(self, problem, config)
        return self.slices(problem, config, whole.launch)

    def accesses(self, problem: Conv2d, config: Config) -> dict[str, Accesses]:
        """Every tap reads an input; weights come by the constant cache."""
        launch = self.steps(problem, config)[0].launch
        return {self.kernel(): thread_a_result(problem, launch, weights=False)}


STRATEGY = Constant()
