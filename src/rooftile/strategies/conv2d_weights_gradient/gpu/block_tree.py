"""`block_tree`: one block a weight, its terms joined by a tree.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed.,
section 10.6 (the tree in shared memory).
"""

from __future__ import annotations

from rooftile.devices.gpu import Launch
from rooftile.ops.features import features
from rooftile.ops.gradients.conv2d_weights_gradient import Conv2dWeightsGradient
from rooftile.strategies.common.grid import MOST_BLOCKS
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.conv2d_weights_gradient.gpu._base import GpuWeightsGradient, inputs_of


class BlockTree(GpuWeightsGradient):
    """The order of sums follows from the block's size alone."""

    name = "block_tree"
    summary = "one block a weight, its threads' sums joined by a tree"
    takes = features("activation:* padding pool:max stride")
    tunables = (Tunable("BLOCK", (32, 128, 256, 512), 256),)

    def steps(self, problem: Conv2dWeightsGradient, config: Config) -> tuple[Step, ...]:
        """One kernel; blocks take further weights where there are more than blocks."""
        outputs = problem.output_arrays
        grid = (min(MOST_BLOCKS, sum(array.size for array in outputs)), 1, 1)
        launch = Launch(self.kernel(), grid, (config["BLOCK"], 1, 1))
        return (Step(launch, (*inputs_of(problem), "dweights", "dbias", problem.images)),)


STRATEGY = BlockTree()
