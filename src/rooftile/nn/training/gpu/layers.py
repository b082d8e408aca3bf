"""A layer's forward and backward pass as launches.

A stage is given the gradient before its activation, dz, and hands on that of its input: times the
derivative of whichever activation made the input, ``before``, so that the stage below is given its
own dz.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Protocol

from rooftile.errors import InputError, UnsupportedProblem
from rooftile.nn.training.gpu.derivative import times_derivative
from rooftile.nn.training.gpu.launches import Work
from rooftile.nn.training.gpu.linear_layer import LinearStage
from rooftile.ops import Conv2d, Linear, Pool2d, Problem
from rooftile.ops.gradients.conv2d_input_gradient import Conv2dInputGradient
from rooftile.ops.gradients.conv2d_weights_gradient import Conv2dWeightsGradient
from rooftile.ops.gradients.pool2d_gradient import Pool2dGradient
from rooftile.runtime.selection.choice import first_of
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import PLACES, GpuStrategy, of_launches
from rooftile.strategies.conv2d.gpu.direct_tile import _winners as direct_tile
from rooftile.strategies.conv2d.gpu.pool_folded import _winners as pool_folded
from rooftile.strategies.conv2d_weights_gradient.gpu import _lane_columns_narrow as narrow_columns
from rooftile.strategies.conv2d_weights_gradient.gpu import lane_columns
from rooftile.strategies.conv2d_weights_gradient.gpu.turned import _in_float16 as turned

_WINNERS = (*pool_folded.WINNERS, *direct_tile.WINNERS)
"""What keeps the winners of a max-pool: the fastest first, and last what takes every precision."""
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


def stage(work: Work, problem: Problem, x: Any, parameters: Sequence[Any], *, first: bool) -> Stage:
    """The stage of a layer's problem; nobody asks for the gradient of the ``first`` one's input.

    Raises `UnsupportedProblem` for one that has no gradient.
    """
    if isinstance(problem, Conv2d):
        return conv_stage(work, problem, x, parameters, first=first)
    if isinstance(problem, Linear):
        return LinearStage(work, problem, x, parameters)
    raise UnsupportedProblem("training on a GPU", f"a layer of {problem.operation}", 'device="cpu"')


def conv_stage(
    work: Work, problem: Conv2d, x: Any, parameters: Sequence[Any], *, first: bool
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
    rung, reason = first_of(_WINNERS, problem, work.precision, work.gpu.description.device)
    if rung is None:
        raise UnsupportedProblem("training on a GPU", reason, 'device="cpu"')
    return WinnersStage(work, problem, x, parameters, of_launches(rung))


class ConvStage:
    """``y = activation(x * w + b)``."""

    def __init__(self, work: Work, problem: Conv2d, x: Any, parameters: Sequence[Any]) -> None:
        self._work, self.problem, self._x, self._parameters = work, problem, x, parameters
        self.y = work.floats(math.prod(problem.output_shape))
        self.before: str = problem.activation
        self.x_lies: dict[str, int] = {}
        """What configs say of x, see `rooftile.nn.training.gpu.narrow`."""
        self.y_lies: dict[str, int] = {}
        """And of y."""
        self.dz_lies: dict[str, int] = {}
        """And of the gradient that the stage is given, with the places of its winners."""
        self.dx_lies: dict[str, int] = {}
        """And of the one that it hands on."""
        self.weights_rung: GpuStrategy | None = None
        """What makes the weights' gradient, where that is no choice."""

    def forward(self) -> None:
        """See `Stage`."""
        self._work.run(self.problem, self._x, self.y, parameters=self._parameters)

    def backward(self, dz: Any, gradients: Sequence[Any], dx: Any, before: str) -> None:
        """See `Stage`."""
        self._back((dz,), gradients, dx, before)

    @property
    def _sizes(self) -> _Sizes:
        """What problems of the layer's gradients begin with."""
        p = self.problem
        return p.batch, p.channels, p.height, p.width, p.maps, p.mask, p.stride, p.padding

    def rounds(self, rung: GpuStrategy, problem: Problem, flag: str, to: str | None = None) -> bool:
        """Whether a strategy, whose 16 bits are those of the precision ``to``, None for this
        training's, runs with a flag set."""
        wanted = self._work.precision if to is None else to
        return rung.narrow == wanted and self.runs(rung, problem, flag)

    def runs(self, rung: GpuStrategy, problem: Problem, flag: str) -> bool:
        """See `Work.runs`."""
        return self._work.runs(rung, problem, flag)

    def _back(self, dz: Sequence[Any], gradients: Sequence[Any], dx: Any, before: str) -> None:
        """The launches for gradients of all outputs, or of winners with their places."""
        p, work = self.problem, self._work
        pool = p.pool if len(dz) == 2 else None
        with work.aside(dx is not None):
            of_weights = Conv2dWeightsGradient(*self._sizes, pool)
            work.run(
                of_weights,
                *(self._x, *dz, *gradients),
                strategy=self.weights_rung,
                narrow={**self.x_lies, **self.dz_lies},
            )
        if dx is not None:
            of_input = Conv2dInputGradient(*self._sizes, pool, before)  # type: ignore[arg-type]
            made_by, lie = ((self._x,), self.x_lies) if before != "none" else ((), {})
            narrow = {**lie, **self.dz_lies, **self.dx_lies}
            given = *dz, *made_by, dx
            work.run(of_input, *given, parameters=self._parameters[:1], narrow=narrow)


class FirstConvStage(ConvStage):
    """The same of the network's input: nothing but the weights' gradients needs the derivative of
    its activation, which is taken where they are made."""

    def __init__(self, work: Work, problem: Conv2d, x: Any, parameters: Sequence[Any]) -> None:
        super().__init__(work, problem, x, parameters)
        self.before = "none"

    def forward(self) -> None:
        """See `Stage`."""
        given = self._x, self.y
        self._work.run(self.problem, *given, parameters=self._parameters, narrow=self.y_lies)

    @property
    def rung(self) -> GpuStrategy:
        """What makes y."""
        return self._work.chosen(self.problem)[0]

    @property
    def _of_weights(self) -> Conv2dWeightsGradient:
        """The problem of its weights' gradients."""
        return Conv2dWeightsGradient(*self._sizes, activation=self.problem.activation)

    def of_narrow(self) -> GpuStrategy | None:
        """What makes these of y and gradients in 16 bits, if anything, as fast."""
        if self._work.chosen(self._of_weights)[0].name != lane_columns.STRATEGY.name:
            return None
        return self._work.first_of(narrow_columns.RUNGS, self._of_weights, self._work.precision)

    def backward(self, dz: Any, gradients: Sequence[Any], dx: Any, before: str) -> None:
        """See `Stage`."""
        value = (self.y,) if self.problem.activation != "none" else ()
        given = self._x, dz, *value, *gradients
        self._work.run(self._of_weights, *given, strategy=self.weights_rung)


class WinnersStage(ConvStage):
    """``y = maximum(activation(x * w + b))``: the places of the winners are kept."""

    def __init__(
        self,
        work: Work,
        problem: Conv2d,
        x: Any,
        parameters: Sequence[Any],
        rung: GpuStrategy,
    ) -> None:
        super().__init__(work, problem, x, parameters)
        self.rung = rung
        """What makes y."""

    def of_images(self, images: str) -> tuple[GpuStrategy, GpuStrategy]:
        """What makes y, and the weights' gradient, of a network's images in the 16 bits of a
        precision: rungs for them, or the stage's own."""
        weights, problem = self.of_weights
        forward = self._work.first_of(pool_folded.OF_IMAGES, self.problem, images)
        reader = self._work.first_of(turned.OF_IMAGES, problem, images)
        return forward or self.rung, reader or weights

    def tell_positions(self) -> None:
        """Tell winners by their positions, in 8 bits, which also say what relu cut: then the stage
        takes its derivative."""
        self.dz_lies[PLACES] = 1
        if self.problem.activation == "relu":
            self.before = "none"

    @cached_property
    def _where(self) -> Any:
        """Memory for the places of winners."""
        count = math.prod(self.problem.output_shape)
        return self._work.floats(blocks(count, 4) if PLACES in self.dz_lies else count)

    def forward(self) -> None:
        """See `Stage`."""
        arrays = self._x, self.y, self._where
        places = {flag: value for flag, value in self.dz_lies.items() if flag == PLACES}
        self._work.run(
            self.problem,
            *arrays,
            parameters=self._parameters,
            strategy=self.rung,
            narrow={**self.x_lies, **self.y_lies, **places},
        )

    @property
    def of_weights(self) -> tuple[GpuStrategy, Problem]:
        """What computes the gradient of the weights."""
        problem = Conv2dWeightsGradient(*self._sizes, self.problem.pool)
        return self._work.chosen(problem)[0], problem

    def of_input(self, before: str) -> tuple[GpuStrategy, Problem]:
        """And that of x, the value of the activation ``before``."""
        pool, of = self.problem.pool, Conv2dInputGradient
        problem = of(*self._sizes, pool, before)  # type: ignore[arg-type]
        return self._work.chosen(problem)[0], problem

    def backward(self, dz: Any, gradients: Sequence[Any], dx: Any, before: str) -> None:
        """See `Stage`."""
        self._back((dz, self._where), gradients, dx, before)


class AveragedStage(ConvStage):
    """``y = average(activation(x * w + b))``: what is averaged is kept."""

    def __init__(self, work: Work, problem: Conv2d, x: Any, parameters: Sequence[Any]) -> None:
        super().__init__(work, problem, x, parameters)
        self._whole = dataclasses.replace(problem, pool=None)
        self._count = math.prod(self._whole.output_shape)
        self._a, self._da = work.floats(self._count), work.floats(self._count)
        self.before = "none"

    def forward(self) -> None:
        """See `Stage`."""
        p = self.problem
        assert p.pool is not None
        self._work.run(self._whole, self._x, self._a, parameters=self._parameters)
        self._work.run(Pool2d(p.batch, p.maps, *p.conv_size, p.pool), self._a, self.y)

    def backward(self, dz: Any, gradients: Sequence[Any], dx: Any, before: str) -> None:
        """See `Stage`."""
        p = self.problem
        assert p.pool is not None
        spread = Pool2dGradient(p.batch, p.maps, *p.conv_size, p.pool)
        self._work.run(spread, self._a, dz, self._da)
        times_derivative(self._work, p.activation, self._a, self._da, self._count)
        self._back((self._da,), gradients, dx, before)
