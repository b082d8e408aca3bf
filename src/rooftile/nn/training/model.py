"""A network under training: scores, loss and gradients of a batch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooftile.errors import InputError
from rooftile.nn.network import Network
from rooftile.nn.training.loss import cross_entropy
from rooftile.nn.training.optimisers import Arrays
from rooftile.nn.training.passes import Array, Parameters, layer_pass


class Model:
    """The passes of a network's layers in a row."""

    def __init__(self, network: Network, threads: int) -> None:
        self._layers = [
            (name, tuple(problem.parameter_shapes), layer_pass(problem, threads))
            for name, problem in network.problems(1)
        ]

    def scores(self, parameters: Mapping[str, Array], x: Array) -> Array:
        """The last layer's output for float32 x[n, channels, height, width]."""
        if x.dtype != np.float32:
            raise InputError("x", x.dtype, "float32")
        for name, kinds, layer in self._layers:
            x = layer.forward(x, _of(parameters, name, kinds))
        return x

    def loss_and_gradients(
        self, parameters: Mapping[str, Array], x: Array, labels: NDArray[np.integer[Any]]
    ) -> tuple[float, Arrays]:
        """The mean cross-entropy of a batch, and its gradient for every parameter."""
        loss, gradient = cross_entropy(self.scores(parameters, x), labels)
        gradients: Arrays = {}
        for index, (name, kinds, layer) in reversed(list(enumerate(self._layers))):
            parts, gradient = layer.backward(
                gradient, _of(parameters, name, kinds), with_input=index > 0
            )
            gradients |= {f"{name}.{kind}": part for kind, part in zip(kinds, parts, strict=True)}
        return loss, gradients


def _of(parameters: Mapping[str, Array], layer: str, kinds: tuple[str, ...]) -> Parameters:
    return tuple(parameters[f"{layer}.{kind}"] for kind in kinds)
