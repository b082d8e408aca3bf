"""`nonzeros`: only gradients that are not zero, a row of the mask in a vector.

A gradient adds the mask, times itself, to the pixels that its output saw.  All channels of one
gradient come before the next, which is likely a neighbour: what was just written is not read again
at once.  A unit is an image; one with padding is made with it, and copied without.
"""

from __future__ import annotations

import numpy as np

from rooftile.devices import cpu
from rooftile.devices.cpu.emit import Writer
from rooftile.devices.cpu.native import Native, last_kernels, source, vector
from rooftile.ops import AnyArray
from rooftile.ops.features import features
from rooftile.ops.gradients.conv2d_input_gradient import Conv2dInputGradient
from rooftile.strategies import HostStrategy
from rooftile.strategies.common.nonzeros import (
    emit_collection,
    emit_finite,
    emit_room,
    reciprocal,
    taps,
    why_not_places,
)
from rooftile.strategies.contract.costs import Work

_WRITTEN_OUT = 48
"""Vectors of a mask's rows that are written one behind the other."""
_SIZES = (
    "channels", "height", "width", "maps", "down", "right", "rows", "columns", "across",
    "reciprocal",
)  # fmt: skip
_WRITTEN_OUT = 256
"""Vectors of the largest mask that is written out."""


class Nonzeros(HostStrategy):
    """Takes all but huge masks and planes, and activations before."""

    operation = "conv2d_input_gradient"
    name = "nonzeros"
    summary = "only gradients that are not zero, a row of the mask in a vector"
    takes = features("padding pool:max stride")

    def limits(self, problem: Conv2dInputGradient) -> str | None:
        tall, wide = problem.mask
        if tall * len(taps(wide, vector.lanes())) > _WRITTEN_OUT:
            return f"a mask of {problem.mask} has more than {_WRITTEN_OUT} vectors"
        return why_not_places(problem.layer)

    def units(self, problem: Conv2dInputGradient) -> int:
        return problem.batch

    def work(self, problem: Conv2dInputGradient) -> Work:
        """See `Strategy.work`: a row of the mask takes whole vectors, each of which is a part."""
        lanes, (tall, wide) = vector.lanes(), problem.mask
        vectors = problem.arrays[0].size * problem.channels * tall * len(taps(wide, lanes))
        return Work(2.0 * lanes * vectors, problem.bytes, vectors)

    def prepare(
        self, problem: Conv2dInputGradient, parameters: tuple[AnyArray, ...], threads: int
    ) -> Walk:
        return Walk(problem, parameters[0], threads)


STRATEGY = Nonzeros()


class Walk:
    """A problem with its weights."""

    def __init__(self, problem: Conv2dInputGradient, weights: AnyArray, threads: int) -> None:
        p = self._problem = problem
        pooled = p.pool is not None
        dtypes = ["float32", *(["int32"] if pooled else ()), "float32", "float32"]
        self._run = cpu.Spread(_kernel(*p.mask, pooled, vector.lanes()), dtypes)
        self._padded = (p.height + 2 * p.padding[0], p.width + 2 * p.padding[1])
        self._sizes = cpu.sizes_of(
            p.channels, *self._padded, p.maps, *p.stride, *p.layer.output_size,
            p.layer.conv_size[1], reciprocal(p.layer),
        )  # fmt: skip
        self._weights, self._threads = np.array(weights, np.float32, order="C"), threads

    def renew(self, parameters: tuple[AnyArray, ...]) -> None:
        self._weights[...] = parameters[0]

    def __call__(self, *arrays: AnyArray) -> None:
        *gradients, dx = arrays
        p, to = self._problem, dx
        if any(p.padding):
            to = np.empty((len(dx), p.channels, *self._padded), np.float32)
        self._run((*gradients, self._weights, to), self._sizes, len(dx), self._threads)
        if to is not dx:
            above, left = p.padding
            dx[...] = to[:, :, above : above + p.height, left : left + p.width]


@last_kernels
def _kernel(tall: int, wide: int, pooled: bool, lanes: int) -> Native:
    """The kernel for masks of this size."""
    to = Writer()
    emit_finite(to, lanes)
    _emit_spend(to, tall, wide, lanes)
    spend = (
        "spend(dx, places, values, held, height * width, width, channels, weights,"
        f" m * channels * {tall * wide})"
    )
    given = "dy, where" if pooled else "dy"
    with to.block(f"def kernel({given}, weights, dx, sizes, begin, end):"):
        to.line(*(f"{name} = sizes[{k}]" for k, name in enumerate(_SIZES)))
        emit_room(to)
        to.line("zeros = 1 - finite(weights, 0, weights.size)")
        with to.block("for n in range(begin, end):"):
            to.line("image = channels * height * width")
            with to.block("for k in range(n * image, (n + 1) * image):"):
                to.line("dx[k] = 0.0")
            with to.block("for m in range(maps):"):
                to.line("plane = (n * maps + m) * rows * columns")
                emit_collection(to, lanes, pooled, "n * image", spend)
                to.line(spend, "held = 0")
    return source("conv2d_input_gradient", to.text(), lanes=lanes)


def _emit_spend(to: Writer, tall: int, wide: int, lanes: int) -> None:
    """Write ``spend``: add what the held gradients of a map bring to the image."""
    with (
        to.block("def spend(image, places, values, held, plane, width, channels, weights, w):"),
        to.block("for k in range(held):"),
    ):
        to.line("value = splat_at(values, k)")
        with to.block("for c in range(channels):"):
            to.line("at = places[k] + c * plane")
            # Of a tall mask the rows are a loop: their text would grow with it.
            if tall * len(taps(wide, lanes)) > _WRITTEN_OUT:
                with to.block(f"for r in range({tall}):"):
                    _emit_row(to, "r", tall, wide, lanes)
            else:
                for r in range(tall):
                    _emit_row(to, str(r), tall, wide, lanes)
    to.line("", "")


def _emit_row(to: Writer, r: str, tall: int, wide: int, lanes: int) -> None:
    """Write what a gradient brings to a row of the image."""
    for first, count in taps(wide, lanes):
        place = f"at + {r} * width + {first}"
        tap = f"load_part(weights, w + (c * {tall} + {r}) * {wide} + {first}, {count})"
        to.line(f"before = load_part(image, {place}, {count})")
        to.line(f"store_part(image, {place}, fma(value, {tap}, before), {count})")
