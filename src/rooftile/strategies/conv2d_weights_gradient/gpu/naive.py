"""A thread and a block for each weight. Source: Goodfellow, Bengio, Courville, "Deep Learning"
(2016), section 9.5; PMPP, section 10.6 (the tree in shared memory)."""

from __future__ import annotations

from rooftile.devices.gpu import Launch
from rooftile.ops.features import features
from rooftile.ops.gradients.conv2d_weights_gradient import Conv2dWeightsGradient
from rooftile.strategies.common.grid import MOST_BLOCKS, blocks
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.conv2d_weights_gradient.gpu._base import GpuWeightsGradient, inputs_of


class Naive(GpuWeightsGradient):
    """As many threads as there are weights and biases: a GPU stays nearly empty."""

    name = "naive"
    summary = "one thread a weight, all gradients of its map one after another"
    takes = features("activation:* padding pool:max stride")
    tunables = (Tunable("BLOCK", (32, 64, 128, 256), 64),)

    def steps(self, problem: Conv2dWeightsGradient, config: Config) -> tuple[Step, ...]:
        outputs = problem.output_arrays
        grid = (blocks(sum(array.size for array in outputs), config["BLOCK"]), 1, 1)
        launch = Launch(self.kernel(), grid, (config["BLOCK"], 1, 1))
        return (Step(launch, (*inputs_of(problem), "dweights", "dbias", problem.images)),)


class BlockTree(GpuWeightsGradient):
    """The order of sums follows from the block's size alone."""

    name = "block_tree"
    summary = "one block a weight, its threads' sums joined by a tree"
    takes = features("activation:* padding pool:max stride")
    tunables = (Tunable("BLOCK", (32, 128, 256, 512), 256),)

    def steps(self, problem: Conv2dWeightsGradient, config: Config) -> tuple[Step, ...]:
        outputs = problem.output_arrays
        grid = (min(MOST_BLOCKS, sum(array.size for array in outputs)), 1, 1)
        launch = Launch(self.kernel(), grid, (config["BLOCK"], 1, 1))
        return (Step(launch, (*inputs_of(problem), "dweights", "dbias", problem.images)),)


STRATEGIES = (Naive(), BlockTree())
