"""A layer's forward and backward pass as launches.

A stage takes the gradient before its activation, dz, and gives its input's gradient times the
derivative of the activation that made the input, ``before``, which is the dz of the stage below.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol, TypeVar

from rooftile.errors import InputError, UnsupportedProblem
from rooftile.nn.training.gpu.derivative import times_derivative
from rooftile.nn.training.gpu.launches import BoundLaunches
from rooftile.nn.training.gpu.linear_layer import LinearStage
from rooftile.ops import Conv2d, Linear, Pool, Pool2d, Problem
from rooftile.ops.gradients.conv2d_input_gradient import Conv2dInputGradient
from rooftile.ops.gradients.conv2d_weights_gradient import Conv2dWeightsGradient
from rooftile.ops.gradients.pool2d_gradient import Pool2dGradient
from rooftile.strategies import preference
from rooftile.strategies.common.grid import blocks

P = TypeVar("P", bound=Problem)
_Sizes = tuple[int, int, int, int, int, tuple[int, int], tuple[int, int], tuple[int, int]]


class Stage(Protocol):
    """A layer on the device, for a batch."""

    y: Any
    """The layer's output."""
    before: str
    """The activation whose value ``y`` is; ``none`` where a pool comes behind it, or where the
    stage itself takes its derivative."""

    def forward(self) -> None:
        """Append the launches that make y of x."""

    def backward(self, dz: Any, gradients: Sequence[Any], dx: Any, before: str) -> None:
        """Append those that make the parameters' gradients and, unless ``dx`` is None, that of the
        input."""


def stage(
    work: BoundLaunches, problem: Problem, x: Any, parameters: Sequence[Any], *, first: bool
) -> Stage:
    """The stage of a layer's problem; nobody asks for the gradient of the ``first`` one's input.

    Raises `UnsupportedProblem` for one that has no gradient.
    """
    if isinstance(problem, Conv2d):
        return conv_stage(work, problem, x, parameters, first=first)
    if isinstance(problem, Linear):
        return LinearStage(work, problem, x, parameters)
    raise UnsupportedProblem("training on a GPU", f"a layer of {problem.operation}", 'device="cpu"')


def conv_stage(
    work: BoundLaunches, problem: Conv2d, x: Any, parameters: Sequence[Any], *, first: bool
) -> Stage:
    """The stage of a convolution, which depends on its pool."""
    pool = problem.pool
    if problem.ghosts != "zero":
        raise InputError("boundary", repr(problem.boundary), "'zero'")
    if pool is not None and (pool.kind not in ("max", "average") or pool.activation != "none"):
        expected = "a maximum or an average with nothing behind it"
        raise InputError("pool", f"{pool.kind} with {pool.activation} behind it", expected)
    if pool is None:
        kind = FirstConvStage if first else ConvStage
        return kind(work, problem, x, parameters)
    if pool.kind == "average":
        return AveragedStage(work, problem, x, parameters)
    if problem.why_not_first:
        raise UnsupportedProblem("training on a GPU", problem.why_not_first, 'device="cpu"')
    found = WinnersStage(work, problem, x, parameters)
    try:
        work.chosen(found.layer)
    except UnsupportedProblem:
        # The last one that is written for two outputs takes the most.
        rungs = preference(problem.operation, work.gpu.description.kind)
        last = [rung for rung in rungs if "returns" in rung.requires][-1]
        reason = last.why_not(found.layer) or "no strategy takes it"
        raise UnsupportedProblem("training on a GPU", reason, 'device="cpu"') from None
    return found


class ConvStage:
    """``y = activation(x * w + b)``."""

    def __init__(
        self, work: BoundLaunches, problem: Conv2d, x: Any, parameters: Sequence[Any]
    ) -> None:
        self.work, self.layer, self._x, self._parameters = work, problem, x, parameters
        self.y = work.floats(math.prod(problem.output_shape))
        self.before: str = problem.activation
        self.stored: dict[str, str] = {}
        """The dtypes of x, y and argmax, and of the gradients dy and dx, where they are no float32
        or int32; see `rooftile.nn.training.gpu.narrow`."""

    def forward(self) -> None:
        """See `Stage`."""
        self.work.run(self.problem, self._x, self.y, parameters=self._parameters)

    def backward(self, dz: Any, gradients: Sequence[Any], dx: Any, before: str) -> None:
        """See `Stage`."""
        self._back((dz,), gradients, dx, before)

    @property
    def problem(self) -> Conv2d:
        """The problem of y."""
        return _stored(self.layer, self.stored, out="y")

    def of_weights(self) -> Conv2dWeightsGradient:
        """The problem of the weights' gradients."""
        return _stored(Conv2dWeightsGradient(*self._sizes, self._pool), self.stored, where="argmax")

    def of_input(self, before: str) -> Conv2dInputGradient:
        """The problem of the gradient of x, the value of the activation ``before``."""
        problem = Conv2dInputGradient(*self._sizes, self._pool, before)  # type: ignore[arg-type]
        return _stored(problem, self.stored, where="argmax")

    def problems(self, before: str) -> list[Problem]:
        """All of them; nobody asks for the gradient of x where no activation is named."""
        return [self.problem, self.of_weights(), *([self.of_input(before)] if before else [])]

    @property
    def _pool(self) -> Pool | None:
        """The pool behind which gradients come with places."""
        return self.layer.pool if self.layer.has_argmax else None

    @property
    def _sizes(self) -> _Sizes:
        """The sizes of the problems of the layer's gradients."""
        p = self.layer
        return p.batch, p.channels, p.height, p.width, p.maps, p.mask, p.stride, p.padding

    def _back(self, dz: Sequence[Any], gradients: Sequence[Any], dx: Any, before: str) -> None:
        """The launches for gradients of all outputs, or of winners with their places."""
        work = self.work
        with work.aside(dx is not None):
            work.run(self.of_weights(), self._x, *dz, *gradients)
        if dx is not None:
            given = *dz, *((self._x,) if before != "none" else ()), dx
            work.run(self.of_input(before), *given, parameters=self._parameters[:1])


class FirstConvStage(ConvStage):
    """The same of the network's input: nothing but the weights' gradients needs the derivative of
    its activation, which is taken where they are made."""

    def __init__(
        self, work: BoundLaunches, problem: Conv2d, x: Any, parameters: Sequence[Any]
    ) -> None:
        super().__init__(work, problem, x, parameters)
        self.before = "none"

    def of_weights(self) -> Conv2dWeightsGradient:
        """The problem of the weights' gradients, from the gradients after the activation."""
        problem = Conv2dWeightsGradient(*self._sizes, activation=self.layer.activation)
        return _stored(problem, self.stored)

    def backward(self, dz: Any, gradients: Sequence[Any], dx: Any, before: str) -> None:
        """See `Stage`."""
        value = (self.y,) if self.layer.activation != "none" else ()
        self.work.run(self.of_weights(), self._x, dz, *value, *gradients)


class WinnersStage(ConvStage):
    """``y = maximum(activation(x * w + b))``: the argmax is kept."""

    def __init__(
        self, work: BoundLaunches, problem: Conv2d, x: Any, parameters: Sequence[Any]
    ) -> None:
        kept = dataclasses.replace(problem, returns=("y", "argmax"))
        super().__init__(work, kept, x, parameters)

    def tell_positions(self) -> None:
        """Positions of winners, in 8 bits, also say what relu cut: then the stage takes its
        derivative."""
        if self.layer.activation == "relu":
            self.before = "none"

    @cached_property
    def _argmax(self) -> Any:
        """Memory for the argmax."""
        return self.work.floats(blocks(self.problem.output_arrays[-1].nbytes, 4))

    def forward(self) -> None:
        """See `Stage`."""
        arrays = self._x, self.y, self._argmax
        self.work.run(self.problem, *arrays, parameters=self._parameters)

    def backward(self, dz: Any, gradients: Sequence[Any], dx: Any, before: str) -> None:
        """See `Stage`."""
        self._back((dz, self._argmax), gradients, dx, before)


def _stored(problem: P, dtypes: Mapping[str, str], **names: str) -> P:
    """A problem with its arrays stored in other dtypes where a stage stores them so; ``names`` are
    the stage's names of arrays that the problem names otherwise."""
    wanted = {array.name: names.get(array.name, array.name) for array in problem.arrays}
    return problem.stored(**{own: dtypes[name] for own, name in wanted.items() if name in dtypes})


class AveragedStage(ConvStage):
    """``y = average(activation(x * w + b))``: what is averaged is kept."""

    def __init__(
        self, work: BoundLaunches, problem: Conv2d, x: Any, parameters: Sequence[Any]
    ) -> None:
        super().__init__(work, problem, x, parameters)
        self._whole = dataclasses.replace(problem, pool=None)
        self._count = math.prod(self._whole.output_shape)
        self._a, self._da = work.floats(self._count), work.floats(self._count)
        self.before = "none"

    def forward(self) -> None:
        """See `Stage`."""
        p = self.layer
        assert p.pool is not None
        self.work.run(self._whole, self._x, self._a, parameters=self._parameters)
        self.work.run(Pool2d(p.batch, p.maps, *p.conv_size, p.pool), self._a, self.y)

    def backward(self, dz: Any, gradients: Sequence[Any], dx: Any, before: str) -> None:
        """See `Stage`."""
        p = self.layer
        assert p.pool is not None
        spread = Pool2dGradient(p.batch, p.maps, *p.conv_size, p.pool)
        self.work.run(spread, self._a, dz, self._da)
        times_derivative(self.work, p.activation, self._a, self._da, self._count)
        self._back((self._da,), gradients, dx, before)
