"""Operations whose parameters stay, as a network's do: packed once, called many times."""

from __future__ import annotations

from typing import Any, cast

from rooftile.devices.select import DeviceName
from rooftile.functional.dense import conv2d_problem, linear_problem
from rooftile.functional.padding import Around, Sides, around_images, checked_padding, is_padded
from rooftile.ops import Conv2d as Conv2dProblem
from rooftile.ops import FusedActivation, Pool, PoolSpec, Precision, Problem
from rooftile.ops import Linear as LinearProblem
from rooftile.ops.activation import check_fused
from rooftile.ops.boundary import Boundary
from rooftile.ops.checks import check_positive, pair
from rooftile.ops.layers.conv2d import BOUNDARIES
from rooftile.runtime.arguments import Arguments, Taken
from rooftile.runtime.calls.plain import plain
from rooftile.runtime.prepared import AnyKind, Prepared


class Conv2d(Prepared):
    """`rooftile.conv2d` with weights and bias that stay, for x of any batch and size.

    ::

        conv = rooftile.Conv2d(weights, bias, activation="relu", pool=("max", 2))
        y = conv(x)

    weights[maps, channels / groups, mask height, mask width] and bias[maps] (None: zeros) are
    copied now, on their device, and packed by the first call for a size of image; ``update(weights,
    bias)`` gives others. ``conv(x, out=out)`` takes x[batch, channels, height, width] of any
    library where the parameters are. On a GPU it goes to the caller's stream, without a copy, and
    may be captured in a graph after a first call of its shape; the graph needs the prepared
    operation for as long as it is replayed. Parameters and x of the CPU with ``device`` "cuda[:N]"
    or "opencl[:N]": x is copied there and the result back. The options and errors are as in
    `rooftile.conv2d`; parameters of float64 take an x of float64, on the CPU.

    Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed.,
    chapters 7 and 16.
    """

    axes = "batch, channels, height, width"

    @plain
    def __init__(
        self,
        weights: Any,
        bias: Any = None,
        *,
        stride: int | tuple[int, int] = 1,
        padding: int | Sides = 0,
        activation: FusedActivation = "none",
        pool: PoolSpec | Pool | None = None,
        boundary: Around = "zero",
        groups: int = 1,
        dilation: int | tuple[int, int] = 1,
        precision: Precision = "ieee",
        strategy: str | None = None,
        device: DeviceName | None = None,
    ) -> None:
        """See the class.  Raises `InputError`, `UnsupportedProblem`."""
        axes = "maps, channels, mask height, mask width"
        super().__init__(weights, bias, axes, precision, strategy, device)
        check_fused(activation)
        check_positive(groups=groups)
        steps, apart = pair("stride", stride, 1), pair("dilation", dilation, 1)
        ghosts = checked_padding(padding)
        if ghosts != "same" and all(before == after for before, after in ghosts):
            padding = ghosts[0][0], ghosts[1][0]
        self._around: tuple[int | Sides, Around] | None = None
        if is_padded(boundary, BOUNDARIES):
            self._around = padding, boundary
            padding, boundary = (0, 0), "zero"
        fused = activation, Pool.parse(pool)
        self._options = (steps, padding, *fused, cast(Boundary, boundary), groups, apart)

    def __call__(self, x: AnyKind, *, out: AnyKind | None = None) -> AnyKind:
        if self._around is not None:
            padding, boundary = self._around
            steps, dilation = self._options[0], self._options[-1]
            x = around_images(x, self.shape[-2:], padding, steps, dilation, boundary)
        return super().__call__(x, out=out)

    def options(self) -> dict[str, Any]:
        names = ("stride", "padding", "activation", "pool", "boundary", "groups", "dilation")
        usual = ((1, 1), (0, 0), "none", None, "zero", 1, (1, 1))
        found = zip(names, self._options, usual, strict=True)
        return {name: value for name, value, default in found if value != default}

    def problem(self, shape: tuple[int, ...]) -> Problem:
        made: Conv2dProblem = conv2d_problem(shape, self.shape, *self._options, self._dtype)
        return made


class Linear(Prepared):
    """`rooftile.linear` with weights and bias that stay, for x of any batch and rank.

    weights[outputs, inputs] and bias[outputs] (None: zeros) are copied now, on their device, and
    packed by the first call; ``update(weights, bias)`` gives others. ``layer(x, out=out)`` takes
    x[..., inputs] of any library where the parameters are, on a GPU as `Conv2d` says, and gives
    y[..., outputs]. The options and errors are as in `rooftile.linear`; parameters of float64 take
    an x of float64, on the CPU.

    Source: Goodfellow, Bengio, Courville, "Deep Learning" (2016), chapter 6.
    """

    axes = "..., inputs"

    @plain
    def __init__(
        self,
        weights: Any,
        bias: Any = None,
        *,
        activation: FusedActivation = "none",
        precision: Precision = "ieee",
        strategy: str | None = None,
        device: DeviceName | None = None,
    ) -> None:
        """See the class.  Raises `InputError`, `UnsupportedProblem`."""
        super().__init__(weights, bias, "outputs, inputs", precision, strategy, device)
        check_fused(activation)
        self._activation: FusedActivation = activation

    def _input(self, given: Arguments[Any], x: Any) -> tuple[Taken, tuple[int, ...] | None]:
        rows, leading = given.take_rows("x", x)
        return rows, None if len(leading) == 1 else (*leading, self.shape[0])

    def options(self) -> dict[str, Any]:
        return {} if self._activation == "none" else {"activation": self._activation}

    def problem(self, shape: tuple[int, ...]) -> Problem:
        made: LinearProblem = linear_problem(shape, self.shape, self._activation, self._dtype)
        return made
