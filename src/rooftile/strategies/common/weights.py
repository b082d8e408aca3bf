"""The base of GPU strategies of layers whose kernels want the weights in another order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rooftile.ops import AnyArray, Float32
from rooftile.strategies.contract.gpu import Config, GpuStrategy


class WeightedGpuStrategy(GpuStrategy):
    """A strategy whose parameters are ``weights``, which it may pack, and ``bias``."""

    def pack(self, problem: Any, weights: Float32, config: Config) -> Float32:
        return weights

    def packed(
        self, problem: Any, parameters: Mapping[str, AnyArray], config: Config
    ) -> dict[str, AnyArray]:
        packed = self.pack(problem, parameters["weights"], config)
        return {**parameters, "weights": packed}
