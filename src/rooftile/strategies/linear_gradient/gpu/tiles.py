"""`tiles`: tiles of both products side by side in one launch, operands in shared memory.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed.,
section 5.4 (tiling) and 10.8 (sums by block).
"""

from __future__ import annotations

from rooftile.devices.gpu import Launch
from rooftile.ops.gradients.linear_gradient import LinearGradient
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.linear_gradient.gpu._base import ARGUMENTS, GpuLinearGradient

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
        """The sums of each part, where there are several."""
        return {"partial": config["PARTS"] * _columns(problem)} if config["PARTS"] > 1 else {}

    def steps(self, problem: LinearGradient, config: Config) -> tuple[Step, ...]:
        """The tiles; and the sum over the parts, where there are several."""
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


STRATEGY = Tiles()
