"""A thread a result, by one block, by a grid, and with the mask in constant memory. Source: PMPP,
section 7.2, for one axis; section 7.2, for one axis and on one block; section 7.3."""

from __future__ import annotations

from rooftile.analysis.accesses import Accesses
from rooftile.devices.gpu import Launch
from rooftile.ops.patterns.conv1d import Conv1d
from rooftile.strategies.common.grid import MOST_BLOCKS, blocks
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.conv1d.gpu._accesses import thread_an_output
from rooftile.strategies.conv1d.gpu._base import BLOCKS, ConstantConv1d, GpuConv1d, numbers


class Naive(GpuConv1d):
    """Takes every problem."""

    name = "naive"
    summary = "a thread an output on as many blocks as that takes, the mask from global memory"
    tunables = (BLOCKS,)

    def steps(self, problem: Conv1d, config: Config) -> tuple[Step, ...]:
        grid = (blocks(problem.outputs, config["BLOCK"]), min(problem.rows, MOST_BLOCKS), 1)
        launch = Launch(self.kernel(), grid, (config["BLOCK"], 1, 1))
        return (Step(launch, ("x", "weights", "out", *numbers(problem))),)

    def accesses(self, problem: Conv1d, config: Config) -> dict[str, Accesses]:
        """Every tap reads an input and a weight."""
        return {self.kernel(): thread_an_output(problem, config["BLOCK"], weights=True)}


class OneBlock(GpuConv1d):
    """Takes every problem."""

    name = "one_block"
    summary = "one block, whose threads take turns over all outputs"
    tunables = (Tunable("BLOCK", (128, 256, 512, 1024), 1024),)

    def steps(self, problem: Conv1d, config: Config) -> tuple[Step, ...]:
        launch = Launch(self.kernel(), (1, 1, 1), (config["BLOCK"], 1, 1))
        return (Step(launch, ("x", "weights", "out", *numbers(problem))),)

    def accesses(self, problem: Conv1d, config: Config) -> dict[str, Accesses]:
        """Every tap reads an input and a weight."""
        return {self.kernel(): thread_an_output(problem, config["BLOCK"], weights=True)}


class Constant(ConstantConv1d):
    """A thread an output."""

    name = "constant"
    family = "constant_memory"  # `constant` is a word of OpenCL C.
    summary = "the mask in constant memory, whose cache serves a warp with one read"

    def tile(self, problem: Conv1d, config: Config) -> int:
        return config["BLOCK"]

    def accesses(self, problem: Conv1d, config: Config) -> dict[str, Accesses]:
        """Every tap reads an input; weights come by the constant cache."""
        return {self.kernel(): thread_an_output(problem, config["BLOCK"], weights=False)}


STRATEGIES = (Naive(), OneBlock(), Constant())
