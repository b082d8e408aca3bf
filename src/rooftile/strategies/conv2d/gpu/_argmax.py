"""Rungs that say too which sum of each max-pool's window is the largest, as training needs it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rooftile.ops import Conv2d
from rooftile.ops.features import features
from rooftile.strategies.contract.gpu import Config, Step
from rooftile.strategies.conv2d.gpu._base import GpuConv2d


class Argmax(GpuConv2d):
    """Comes before a rung's class.  Takes problems that return the argmax of their max-pool.

    ``argmax`` has places, int32, or positions, uint8: see `rooftile.ops.layers.positions`.
    """

    requires = features("returns")

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.requires = frozenset().union(*(vars(one).get("requires", ()) for one in cls.__mro__))
        cls.takes = (cls.takes | {"returns"}) - features("boundary:interior,replicate")
        cls.stores = {**cls.stores, "WHERE_NARROW": "argmax:uint8"}

    def macros(self, problem: Conv2d, config: Config) -> dict[str, int | str]:
        wide = {"WINNERS": 1, "CONV_COLUMNS": problem.conv_size[1]}
        return {**super().macros(problem, config), **wide}

    def steps(self, problem: Conv2d, config: Config) -> tuple[Step, ...]:
        # The rung's class, which comes behind this one, has steps.
        (step,) = super().steps(problem, config)  # type: ignore[safe-super]
        arguments: tuple[Any, ...] = (*step.arguments, "argmax")
        return (replace(step, arguments=arguments),)
