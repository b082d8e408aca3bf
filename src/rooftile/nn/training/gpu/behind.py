"""What stands behind a layer on a device: activations that it does not fuse, and dropout."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np

from rooftile.devices.gpu import Launch
from rooftile.devices.launches import Call
from rooftile.errors import UnsupportedProblem
from rooftile.nn.training.gpu.derivative import times_derivative
from rooftile.nn.training.gpu.launches import BoundLaunches
from rooftile.nn.training.gpu.layers import Stage
from rooftile.ops import Softmax
from rooftile.ops.activation import ACTIVATIONS, CODES, Differentiable
from rooftile.ops.gradients.activation_gradient import ActivationGradient
from rooftile.ops.gradients.softmax_gradient import SoftmaxGradient
from rooftile.strategies.contract.gpu import HEADERS

_THREADS = 256


def activation_stage(work: BoundLaunches, name: str, x: Any, shape: tuple[int, ...]) -> Stage:
    """The stage of an activation over x of a shape.  Raises `UnsupportedProblem` for sign."""
    if name == "softmax":
        return SoftmaxStage(work, x, shape)
    if name not in get_args(Differentiable):
        raise UnsupportedProblem("training on a GPU", f"the activation {name}", 'device="cpu"')
    return ActivationStage(work, name, x, shape)


class SoftmaxStage:
    """``y = softmax(x)`` of each row."""

    before = "none"

    def __init__(self, work: BoundLaunches, x: Any, shape: tuple[int, ...]) -> None:
        self._work, self._x, self._rows, self._classes = work, x, shape[0], math.prod(shape[1:])
        self.y = work.floats(math.prod(shape))

    def forward(self) -> None:
        """See `Stage`."""
        self._work.run(Softmax(self._rows, self._classes), self._x, self.y)

    def backward(self, dz: Any, gradients: Sequence[Any], dx: Any, before: str) -> None:
        """See `Stage`."""
        self._work.run(SoftmaxGradient(self._rows, self._classes), self.y, dz, dx)
        times_derivative(self._work, before, self._x, dx, self._rows * self._classes)


class ActivationStage:
    """``y = activation(x)``, element by element."""

    before = "none"

    def __init__(self, work: BoundLaunches, name: str, x: Any, shape: tuple[int, ...]) -> None:
        self._work, self._x, self._count = work, x, math.prod(shape)
        self._row = ACTIVATIONS[name]
        self.y = work.floats(self._count)

    def forward(self) -> None:
        """See `Stage`."""
        self._work.call(self._activated)

    def _activated(self) -> Call:
        macros = {"ACTIVATION": CODES[self._row.name]}
        program = self._work.gpu.compile(_text(), macros, [HEADERS])
        launch = Launch("activation", (-(-self._count // _THREADS), 1, 1), (_THREADS, 1, 1))
        return Call(program, launch, (self._x, self.y, np.int32(self._count)))

    def backward(self, dz: Any, gradients: Sequence[Any], dx: Any, before: str) -> None:
        """See `Stage`."""
        kept = self._x if self._row.needs == "z" else self.y
        problem = ActivationGradient(self._count, self._row.name)  # type: ignore[arg-type]
        self._work.run(problem, kept, dz, dx)
        times_derivative(self._work, before, self._x, dx, self._count)


class DropoutStage:
    """``y = x / (1 - share)``, but 0 for a share of the elements."""

    before = "none"

    def __init__(
        self,
        work: BoundLaunches,
        x: Any,
        shape: tuple[int, ...],
        draw: tuple[float, int, int],
        *when: Any,
    ) -> None:
        """``draw``: the share, the seed, and which of the network's dropouts it is; ``when``: the
        buffers of rates and of the step."""
        self._work, self._x, self._count, self._when = work, x, math.prod(shape), when
        share, seed, layer = draw
        self._macros: dict[str, int | str] = {
            "SEED": f"{seed & 0xFFFFFFFF}u",
            "OTHER_SEED": f"{seed >> 32 & 0xFFFFFFFF}u",
            "LAYER": layer,
            "DROPPED": f"{round(share * 2**32)}u",
            "ENLARGED": f"{float(np.float32(1 / (1 - share)))!r}f",
        }
        self.y = work.floats(self._count)

    def forward(self) -> None:
        """See `Stage`."""
        self._work.call(self._dropped, self._x, self.y)

    def backward(self, dz: Any, gradients: Sequence[Any], dx: Any, before: str) -> None:
        """See `Stage`."""
        self._work.call(self._dropped, dz, dx)
        times_derivative(self._work, before, self._x, dx, self._count)

    def _dropped(self, given: Any, to: Any) -> Call:
        program = self._work.gpu.compile(_text(), self._macros)
        launch = Launch("dropout", (-(-self._count // (4 * _THREADS)), 1, 1), (_THREADS, 1, 1))
        return Call(program, launch, (given, to, *self._when, np.int32(self._count)))


def _text() -> str:
    return Path(__file__).with_name("behind.cu").read_text(encoding="utf-8")
