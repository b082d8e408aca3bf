"""A thread for an element, and tiles in shared memory. Source: PMPP, section 3.4; PMPP, section 5.4
(tiling) and 10.8 (sums by block)."""

from __future__ import annotations

from rooftile.devices.gpu import Launch
from rooftile.ops.features import features
from rooftile.ops.gradients.linear_gradient import LinearGradient
from rooftile.strategies.common.fused import ACTIVATION_CODES
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config, GpuStrategy, Step, Tunable


class GpuLinearGradient(GpuStrategy):
    """A GPU strategy of `linear_gradient`; takes every problem."""

    operation = "linear_gradient"
    takes = features("activation:* before:*")

    def macros(self, problem: LinearGradient, config: Config) -> dict[str, int | str]:
        return {
            "INPUTS": problem.inputs,
            "OUTPUTS": problem.outputs,
            "ACTIVATION": ACTIVATION_CODES[problem.activation],
            "BEFORE": ACTIVATION_CODES[problem.before],
            **config,
        }


ARGUMENTS = ("x", "y", "dy", "weights", "dx", "dweights", "dbias")
"""The arrays, in the order of the kernels' arguments."""


class Naive(GpuLinearGradient):
    """Every thread computes the gradients before the activation that it wants again."""

    name = "naive"
    summary = "one thread an element, everything from global memory"
    tunables = (Tunable("BLOCK", (64, 128, 256, 512), 128),)

    def steps(self, problem: LinearGradient, config: Config) -> tuple[Step, ...]:
        elements = sum(array.size for array in problem.output_arrays)
        launch = Launch(
            self.kernel(), (blocks(elements, config["BLOCK"]), 1, 1), (config["BLOCK"], 1, 1)
        )
        return (Step(launch, (*ARGUMENTS, problem.images)),)


_TILE = 32
"""Rows, columns and depth of a tile."""
_MOST_PARTS = 64


class Tiles(GpuLinearGradient):
    """Blocks make tiles of dweights, from some of the items, or of dx; nobody waits between."""

    name = "tiles"
    summary = "tiles of dweights and of dx in one launch, operands in shared memory"
    tunables = (Tunable("PARTS", (1, 2, 4, 8, 16, 32, 64), 1),)

    def defaults(self, problem: LinearGradient) -> dict[str, int]:
        """Items are cut into parts where there are too few weights to fill the GPU."""
        tiles, parts = _weight_tiles(problem), 1
        while (
            parts < _MOST_PARTS
            and tiles * parts < self.machine.multiprocessors
            and problem.images > 4 * parts * _TILE
        ):
            parts *= 2
        return {"PARTS": parts}

    def workspace(self, problem: LinearGradient, config: Config) -> dict[str, int]:
        return {"partial": config["PARTS"] * _columns(problem)} if config["PARTS"] > 1 else {}

    def steps(self, problem: LinearGradient, config: Config) -> tuple[Step, ...]:
        whole = config["PARTS"] == 1
        across = blocks(problem.inputs, _TILE)
        tiles = config["PARTS"] * _weight_tiles(problem) + blocks(problem.images, _TILE) * across
        launch = Launch(self.kernel(), (tiles, 1, 1), (_TILE, 8, 1), overlaps=True)
        arguments = ARGUMENTS if whole else (*ARGUMENTS, "partial")
        step = Step(launch, (*arguments, problem.images))
        if whole:
            return (step,)
        columns = blocks(_columns(problem), 256), 1, 1
        finish = Launch(self.kernel("finish"), columns, (256, 1, 1), overlaps=True)
        return step, Step(finish, ("partial", "dweights", "dbias"))


def _weight_tiles(problem: LinearGradient) -> int:
    return blocks(problem.outputs, _TILE) * blocks(problem.inputs, _TILE)


def _columns(problem: LinearGradient) -> int:
    """Weights and biases."""
    return problem.outputs * (problem.inputs + 1)


STRATEGIES = (Naive(), Tiles())
