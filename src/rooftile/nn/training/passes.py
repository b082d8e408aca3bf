"""A layer's forward and backward pass over a batch.

Arrays are float32.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rooftile.devices import cpu
from rooftile.errors import InputError
from rooftile.ops import Conv2d, Linear, Pool, Pool2d, Problem, activation
from rooftile.ops.gradients.activation_gradient import ActivationGradient
from rooftile.ops.gradients.conv2d_input_gradient import Conv2dInputGradient
from rooftile.ops.gradients.conv2d_weights_gradient import Conv2dWeightsGradient
from rooftile.ops.gradients.pool2d_gradient import Pool2dGradient
from rooftile.ops.gradients.pool2d_winners import Pool2dWinners
from rooftile.ops.patterns.matmul import Matmul
from rooftile.runtime.selection.choice import decide
from rooftile.strategies import Bound

Array = NDArray[np.floating[Any]]
Parameters = tuple[Array, ...]

_GROUP = 16
"""Images that are convolved before their windows' maxima are taken, while they are in cache."""


class Pass(Protocol):
    """A layer's forward and backward pass of a batch; `backward` uses what the last `forward`
    kept."""

    def forward(self, x: Array, parameters: Parameters) -> Array:
        """The layer's output for x[n, ...]."""

    def backward(
        self, dy: Array, parameters: Parameters, *, with_input: bool
    ) -> tuple[Parameters, Array]:
        """Gradients of the parameters and of the input, from that of the output. Without
        ``with_input`` the second one is of no images."""


def layer_pass(problem: Problem, threads: int) -> Pass:
    """The pass of a layer's problem; the batch that the problem names does not matter."""
    return _PASSES[problem.operation](problem, threads)


class _Operations:
    """Runs operations by the CPU's chosen strategies, on our threads alone: BLAS's threads would
    wait for work on the same cores."""

    def __init__(self, threads: int) -> None:
        self._device = cpu.open_device(threads)
        self._bound: dict[Problem, Bound] = {}

    def run(
        self,
        problem: Problem,
        *inputs: Array,
        parameters: Parameters = (),
        into: tuple[NDArray[Any], ...] = (),
    ) -> tuple[Array, ...]:
        """The outputs of a problem, in the arrays ``into`` where these have the shapes."""
        bound = self._bound.get(problem)
        if bound is None:
            bound = self._bound[problem] = self._bind(problem, parameters)
        if parameters:
            bound.renew(parameters)
        places = problem.output_arrays
        if [array.shape for array in into] != [place.shape for place in places]:
            into = tuple(np.empty(place.shape, place.numpy) for place in places)
        bound(*map(np.ascontiguousarray, inputs), *into)
        return into

    def through(self, activation: str, y: Array, dy: Array) -> Array:
        """The gradient before an activation whose value is y."""
        if activation == "none":
            return dy
        problem = ActivationGradient(dy.size, activation)  # type: ignore[arg-type]
        return self.run(problem, y.reshape(-1), dy.reshape(-1))[0].reshape(dy.shape)

    def _bind(self, problem: Problem, parameters: Parameters) -> Bound:
        """Each step has other parameters, so it is best to read them as they lie."""
        strategy: Any = decide(problem).strategy
        found: Bound | None = strategy.once(problem, self._device)
        return found or strategy.bind(problem, parameters, self._device)


class LinearPass:
    """``y = activation(x w^T + b)``; x is flattened."""

    def __init__(self, problem: Linear, threads: int) -> None:
        self._problem, self._operations = problem, _Operations(threads)

    def forward(self, x: Array, parameters: Parameters) -> Array:
        self._shape, self._x = x.shape, x.reshape(len(x), -1)
        problem = self._problem.with_batch(len(x))
        # Of a fused activation the result tells the derivative as well as its argument does.
        (self._y,) = self._operations.run(problem, self._x, parameters=parameters)
        return self._y

    def backward(
        self, dy: Array, parameters: Parameters, *, with_input: bool
    ) -> tuple[Parameters, Array]:
        images, inputs, outputs = len(dy), self._problem.inputs, self._problem.outputs
        dz = self._operations.through(self._problem.activation, self._y, dy)
        of_weights = Matmul(outputs, images, inputs, transpose_a=True)
        (dweights,) = self._operations.run(of_weights, dz, self._x)
        if not with_input:
            return (dweights, dz.sum(axis=0)), _nothing(self._shape, dz)
        of_input = Matmul(images, outputs, inputs)
        (dx,) = self._operations.run(of_input, dz, parameters[0])
        return (dweights, dz.sum(axis=0)), dx.reshape(self._shape)


class ConvPass:
    """``y = pool(activation(x * w + b))``.

    The fused activations are monotone, so under max-pool the maximum is taken first and
    only the winners are activated; the gradient has one position a window, and no more is kept.
    """

    def __init__(self, problem: Conv2d, threads: int) -> None:
        pool = problem.pool
        if pool is not None and (pool.kind not in ("max", "average") or pool.activation != "none"):
            expected = "a maximum or an average that nothing follows"
            raise InputError("pool", f"{pool.kind} followed by {pool.activation}", expected)
        if problem.ghosts != "zero":
            raise InputError("boundary", repr(problem.boundary), "'zero'")
        self._problem, self._operations = problem, _Operations(threads)
        self._maximum = pool if pool is not None and pool.kind == "max" else None
        self._average = pool if self._maximum is None else None
        self._activation = activation(problem.activation)

    def forward(self, x: Array, parameters: Parameters) -> Array:
        self._x = x
        if self._maximum is not None:
            z = self._winners(self._x, parameters, self._maximum)
            self._y = self._activation.value(z)
            return self._y
        problem = dataclasses.replace(self._problem, batch=len(x), pool=None)
        # Of a fused activation the result tells the derivative as well as its argument does.
        (self._y,) = self._operations.run(problem, self._x, parameters=parameters)
        if self._average is None:
            return self._y
        size = self._problem.conv_size
        pooled = Pool2d(len(x), self._problem.maps, *size, self._average)
        return self._operations.run(pooled, self._y)[0]

    def backward(
        self, dy: Array, parameters: Parameters, *, with_input: bool
    ) -> tuple[Parameters, Array]:
        p, images = self._problem, len(dy)
        if self._average is not None:
            spread = Pool2dGradient(images, p.maps, *p.conv_size, self._average)
            (dy,) = self._operations.run(spread, self._y, dy)
        dz = self._operations.through(p.activation, self._y, dy)
        shape = (p.channels, p.height, p.width, p.maps, p.mask, p.stride, p.padding)
        gradients = (dz,) if self._maximum is None else (dz, self._where)
        of_weights = Conv2dWeightsGradient(images, *shape, self._maximum)
        dweights, dbias = self._operations.run(of_weights, self._x, *gradients)
        if not with_input:
            return (dweights, dbias), _nothing(self._x.shape, dz)
        of_input = Conv2dInputGradient(images, *shape, self._maximum)
        (dx,) = self._operations.run(of_input, *gradients, parameters=parameters[:1])
        return (dweights, dbias), dx

    def _winners(self, x: Array, parameters: Parameters, pool: Pool) -> Array:
        """The maximum of each window of the convolution; where it stands is kept."""
        p, z = self._problem, np.empty((0,), np.float32)
        best = np.empty((len(x), p.maps, *p.output_size), np.float32)
        self._where = np.empty(best.shape, np.int32)
        for first in range(0, len(x), _GROUP):
            part = slice(first, min(first + _GROUP, len(x)))
            count = part.stop - part.start
            conv = dataclasses.replace(p, batch=count, activation="none", pool=None)
            (z,) = self._operations.run(conv, x[part], parameters=parameters, into=(z,))
            winners = Pool2dWinners(count, p.maps, *p.conv_size, pool)
            self._operations.run(winners, z, into=(best[part], self._where[part]))
        return best


_PASSES: dict[str, Callable[[Any, int], Pass]] = {"conv2d": ConvPass, "linear": LinearPass}


def _nothing(shape: tuple[int, ...], like: Array) -> Array:
    """An array of no images."""
    return np.empty((0, *shape[1:]), like.dtype)
