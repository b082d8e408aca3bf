"""Rungs that say too which sum of each max-pool's window is the largest: for training.

They are no rungs of the ladder, since they have a result that the operation has not.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rooftile.ops import Array, Conv2d
from rooftile.ops.problem import Dtype
from rooftile.strategies.contract.gpu import PLACES, Config, Step
from rooftile.strategies.conv2d.gpu._base import GpuConv2d


class Winners(GpuConv2d):
    """Comes before a rung's class.  Takes max-pools with nothing behind them, as far as that does.

    Behind its result it holds ``where``, the places of the winners in the convolution: row *
    columns + column, int32, as `pool2d_winners` finds them; or, as the config says, their positions
    in their windows, uint8, and 255 of windows that relu cut.
    """

    between = (PLACES,)

    def limits(self, problem: Conv2d) -> str | None:
        """See the rung's; it refuses other pools, and ghost cells that are not zeros."""
        pool = problem.pool
        if pool is None or pool.kind != "max" or pool.activation != "none":
            return "it is for a maximum with nothing behind it"
        if problem.why_not_first:
            return problem.why_not_first
        return super().limits(problem) if problem.ghosts == "zero" else "its ghost cells are zeros"

    def macros(self, problem: Conv2d, config: Config) -> dict[str, int | str]:
        """And how wide the convolution is."""
        wide = {"WINNERS": 1, "CONV_COLUMNS": problem.conv_size[1]}
        return {**super().macros(problem, config), **wide}

    def held(self, problem: Conv2d, config: Config) -> tuple[Array, ...]:
        """x, the result and the places."""
        x, out = super().held(problem, config)
        dtype: Dtype = "uint8" if config[PLACES] else "int32"
        return x, out, replace(out, name="where", dtype=dtype)

    def steps(self, problem: Conv2d, config: Config) -> tuple[Step, ...]:
        """One kernel, which is given one array more."""
        # The rung's class, which comes behind this one, has steps.
        (step,) = super().steps(problem, config)  # type: ignore[safe-super]
        arguments: tuple[Any, ...] = (*step.arguments, "where")
        return (replace(step, arguments=arguments),)
