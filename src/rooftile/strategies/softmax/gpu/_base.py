"""The base of the GPU strategies of `softmax`: the macros of the problem."""

from __future__ import annotations

from rooftile.ops import Softmax
from rooftile.strategies.contract.gpu import Config, GpuStrategy


class GpuSoftmax(GpuStrategy):
    """A GPU strategy of `softmax`; takes every problem."""

    operation = "softmax"

    def macros(self, problem: Softmax, config: Config) -> dict[str, int | str]:
        return {"CLASSES": problem.classes, **config}
