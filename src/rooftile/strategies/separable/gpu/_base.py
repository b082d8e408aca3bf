"""The base of the GPU strategies of `separable`."""

from __future__ import annotations

from rooftile.devices.gpu import Launch
from rooftile.ops.features import features
from rooftile.ops.patterns.separable import Separable
from rooftile.strategies.common.grid import CONSTANT_BYTES, MOST_BLOCKS, blocks
from rooftile.strategies.contract.gpu import Config, Fill, GpuStrategy, Step

Size2 = tuple[int, int]
"""Rows and columns."""
_MOST_SIDE = 2**30
"""Rows or columns of an image that 32-bit indices reach, halo included."""


class GpuSeparable(GpuStrategy):
    """A GPU strategy of `separable`."""

    operation = "separable"
    takes = features("boundary:replicate,valid")
    wide_indices = True

    def limits(self, problem: Separable) -> str | None:
        longest = max(problem.height, problem.width, *problem.mask)
        if longest > _MOST_SIDE:
            return f"a side of {longest}, at most {_MOST_SIDE}"
        return None

    def macros(self, problem: Separable, config: Config) -> dict[str, int | str]:
        return {
            "HIGH": problem.mask[0],
            "WIDE": problem.mask[1],
            "TOP": problem.before[0],
            "LEFT": problem.before[1],
            "REPLICATE": int(problem.boundary == "replicate"),
            **config,
        }


class TiledSeparable(GpuSeparable):
    """A strategy of one kernel, a block a tile of outputs, with masks in constant memory."""

    def tile(self, problem: Separable, config: Config) -> Size2:
        raise NotImplementedError

    def block(self, config: Config) -> Size2:
        raise NotImplementedError

    def limits(self, problem: Separable) -> str | None:
        if 4 * sum(problem.mask) > CONSTANT_BYTES:
            return f"{sum(problem.mask)} taps, constant memory has {CONSTANT_BYTES:,} bytes"
        return super().limits(problem) or self.invalid(problem, self.defaults(problem))

    def constants(self, problem: Separable, config: Config) -> dict[str, Fill]:
        down, across = problem.mask
        return {"down_taps": Fill("column", down), "across_taps": Fill("row", across)}

    def grid(self, problem: Separable, config: Config) -> tuple[int, int, int]:
        """Tiles across and down, and images."""
        (rows, columns), (high, wide) = problem.output_size, self.tile(problem, config)
        return blocks(columns, wide), blocks(rows, high), min(problem.batch, MOST_BLOCKS)

    def steps(self, problem: Separable, config: Config) -> tuple[Step, ...]:
        teams, threads = self.block(config)
        launch = Launch(
            self.kernel(),
            self.grid(problem, config),
            (threads, teams, 1),
            constants=("down_taps", "across_taps"),
        )
        return (Step(launch, ("x", "out", *numbers(problem))),)


def numbers(problem: Separable) -> tuple[int, int, int, int, int]:
    """Height, width, rows, columns and images as the kernels take them."""
    return problem.height, problem.width, *problem.output_size, problem.batch
