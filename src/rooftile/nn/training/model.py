"""A network under training: outputs, loss and gradients of a batch."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from rooftile.errors import InputError
from rooftile.nn.layers import trained
from rooftile.nn.network import Network
from rooftile.nn.training.activation_passes import (
    DropoutPass,
    ElementwisePass,
    ExactLinearPass,
    SoftmaxPass,
)
from rooftile.nn.training.losses import LossName, Targets, loss_of
from rooftile.nn.training.optimisers import Arrays
from rooftile.nn.training.passes import Array, Parameters, Pass, layer_pass
from rooftile.nn.training.phases import Phases
from rooftile.ops import Layer as LayerProblem


class Model:
    """The passes of a network's layers in a row, and a loss after them."""

    def __init__(
        self,
        network: Network,
        threads: int,
        loss: LossName = "cross_entropy",
        *,
        dtype: str = "float32",
        dropout: float = 0.0,
        phases: Phases | None = None,
    ) -> None:
        """``dropout`` is after every layer but the last. Raises `InputError` for a loss that does
        not fit the outputs, and for a dtype in which the layers do not compute."""
        self._dtype = np.dtype(dtype)
        self._phases = phases or Phases()
        last = network.layers[-1].activation
        self._activations = {layer.name: layer.activation for layer in network.layers[:-1]}
        self._loss = loss_of(loss, network.output_shape[0], last)
        self._dropouts: list[DropoutPass] = []
        self._layers = list(_passes(network, threads, self._dtype, dropout, self._dropouts))
        self._end: list[tuple[str, tuple[str, ...], Pass]] = []
        if self._loss.takes_scores and last != "none":
            self._layers, self._end = _split(self._layers, network, last, threads, self._dtype)

    def scores(self, parameters: Mapping[str, Array], x: Array) -> Array:
        """The network's outputs of x[n, ...], whose dtype is the model's."""
        return self._forward(parameters, x, [*self._layers, *self._end])

    def loss_and_gradients(
        self,
        parameters: Mapping[str, Array],
        x: Array,
        targets: Targets,
        generator: np.random.Generator | None = None,
    ) -> tuple[float, Arrays]:
        """The mean loss of a batch, and its gradient for every parameter. ``generator`` draws what
        dropout leaves out."""
        for dropout in self._dropouts:
            dropout.generator = generator
        y = self._forward(parameters, x, self._layers)
        with self._phases.of("loss"):
            loss, gradient = self._loss(y, targets)
        gradients: Arrays = {}
        for index, (name, kinds, layer) in reversed(list(enumerate(self._layers))):
            with self._phases.of("backward", name):
                parts, gradient = layer.backward(
                    gradient, _of(parameters, name, kinds), with_input=index > 0
                )
            gradients |= {f"{name}.{kind}": part for kind, part in zip(kinds, parts, strict=True)}
        for dropout in self._dropouts:
            dropout.generator = None
        return loss, gradients

    def loss(self, parameters: Mapping[str, Array], x: Array, targets: Targets) -> float:
        """The mean loss of a batch, without dropout."""
        return self._loss(self._forward(parameters, x, self._layers), targets)[0]

    def dead_layers(self, parameters: Mapping[str, Array], x: Array) -> list[str]:
        """The layers but the last through whose activations no gradient passes for any item."""
        found = []
        for name, kinds, layer in self._layers:
            x = layer.forward(x, _of(parameters, name, kinds))
            flat = _FLAT.get(self._activations.get(name, ""))
            if flat is not None and flat(x):
                found.append(name)
        return found

    def _forward(
        self,
        parameters: Mapping[str, Array],
        x: Array,
        layers: list[tuple[str, tuple[str, ...], Pass]],
    ) -> Array:
        if x.dtype != self._dtype:
            raise InputError("x", x.dtype, self._dtype.name)
        for name, kinds, layer in layers:
            with self._phases.of("forward", name):
                x = layer.forward(x, _of(parameters, name, kinds))
        return x


_FLAT: dict[str, Callable[[Array], bool]] = {
    "relu": lambda y: not (y > 0).any(),
    "sigmoid": lambda y: not ((y > 0) & (y < 1)).any(),
    "tanh": lambda y: not (np.abs(y) < 1).any(),
}
"""True where an activation's derivative is zero everywhere, by its values."""
_Passes = list[tuple[str, tuple[str, ...], Pass]]
"""Each pass with its layer's name and its parameters' kinds."""


def _passes(
    network: Network,
    threads: int,
    dtype: np.dtype[Any],
    dropout: float,
    dropouts: list[DropoutPass],
) -> Iterator[tuple[str, tuple[str, ...], Pass]]:
    last = network.layers[-1]
    for layer, (name, problem) in zip(network.layers, network.weighted(1), strict=True):
        kinds = tuple(problem.parameter_shapes)
        bare, left = trained(layer, problem)
        yield name, kinds, _weighted_pass(name, bare, threads, dtype)
        if left != "none":
            yield f"{name}.{left}", (), _activation_pass(left)
        if dropout > 0 and layer is not last:
            dropouts.append(DropoutPass(dropout))
            yield f"{name}.dropout", (), dropouts[-1]


_EXACT: dict[str, Callable[[Any], Pass]] = {
    "linear": lambda problem: ExactLinearPass(problem.activation),
}
"""The passes in other numbers than float32."""


def _weighted_pass(name: str, problem: LayerProblem, threads: int, dtype: np.dtype[Any]) -> Pass:
    if dtype == np.float32:
        return layer_pass(problem, threads)
    if problem.operation not in _EXACT:
        found = f"{dtype.name} with the {problem.operation} {name!r}"
        raise InputError("dtype", found, "float32: only fully connected layers are float64's")
    return _EXACT[problem.operation](problem)


def _activation_pass(name: str) -> Pass:
    return SoftmaxPass() if name == "softmax" else ElementwisePass(name)


def _split(
    layers: _Passes, network: Network, last: str, threads: int, dtype: np.dtype[Any]
) -> tuple[_Passes, _Passes]:
    """The passes up to the last activation, which the loss contains, and that activation's."""
    problem: Any = network.weighted(1)[-1][1]
    if trained(network.layers[-1], problem)[1] != "none":
        return layers[:-1], layers[-1:]
    name, kinds, _ = layers[-1]
    without = dataclasses.replace(problem, activation="none")
    bare = name, kinds, _weighted_pass(name, without, threads, dtype)
    return [*layers[:-1], bare], [(f"{name}.{last}", (), _activation_pass(last))]


def _of(parameters: Mapping[str, Array], layer: str, kinds: tuple[str, ...]) -> Parameters:
    return tuple(parameters[f"{layer}.{kind}"] for kind in kinds)
