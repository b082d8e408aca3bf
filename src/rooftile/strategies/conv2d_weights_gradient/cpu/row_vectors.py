"""`row_vectors`: every gradient, neighbours in a row of them in a vector.

A vector of gradients is multiplied by the pixels that a tap of the mask saw, which lie side by side
too, so that a tap has a vector of sums, added up at the end.  As many taps as registers hold share
one walk over the gradients.  A unit is a map in a share of the images.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from rooftile.devices import cpu
from rooftile.devices.cpu.emit import Writer
from rooftile.devices.cpu.native import Native, last_kernels, source, vector
from rooftile.ops import AnyArray
from rooftile.ops.features import features
from rooftile.ops.gradients.conv2d_weights_gradient import Conv2dWeightsGradient
from rooftile.strategies import HostStrategy
from rooftile.strategies.common.convolution_gradients import before_activation, framed
from rooftile.strategies.contract.costs import Work
from rooftile.strategies.conv2d_weights_gradient.cpu._shares import (
    add_shares,
    filled_lanes,
    share_arrays,
    shares_of,
)

_OTHER_REGISTERS = 5
"""Registers besides the taps' sums: the bias's sum, the gradients, pixels, and two to spare."""
_MOST_TAPS = 256
"""Each is a line of the kernel's text."""
_WRITTEN_OUT = 5
"""Groups of taps that are written out; loops go through more of them, along rows of the mask."""
_SIZES = (
    "channels", "height", "width", "maps", "down", "rows", "columns", "images", "shares",
)  # fmt: skip


class RowVectors(HostStrategy):
    """Takes gradients of all outputs of masks that move by single columns."""

    operation = "conv2d_weights_gradient"
    name = "row_vectors"
    summary = "every gradient, neighbours in a row in a vector, a vector of sums for a tap"
    takes = features("activation:* padding stride")

    def limits(self, problem: Conv2dWeightsGradient) -> str | None:
        if problem.pool is not None:
            return "gradients behind a max-pool are no rows of neighbours"
        if problem.stride[1] != 1:
            return f"a horizontal stride of {problem.stride[1]} parts neighbours"
        if math.prod(problem.mask) > _MOST_TAPS:
            return f"a mask of {math.prod(problem.mask)} taps, more than {_MOST_TAPS}"
        return None

    def units(self, problem: Conv2dWeightsGradient) -> int:
        return shares_of(problem) * problem.maps

    def work(self, problem: Conv2dWeightsGradient) -> Work:
        """See `Strategy.work`: a row of gradients takes whole vectors."""
        filled = filled_lanes(problem.layer.conv_size[1])
        return replace(super().work(problem), flops=problem.flops / filled)

    def prepare(
        self, problem: Conv2dWeightsGradient, parameters: tuple[AnyArray, ...], threads: int
    ) -> Callable[..., None]:
        p, layer, shares = problem, problem.layer, shares_of(problem)
        run = cpu.Spread(kernel(*p.mask, vector.lanes(), vector.registers()), ["float32"] * 4)
        height, width = p.height + 2 * p.padding[0], p.width + 2 * p.padding[1]
        sizes = cpu.sizes_of(
            p.channels, height, width, p.maps, p.stride[0], *layer.conv_size, p.images, shares
        )

        def call(x: AnyArray, *others: AnyArray) -> None:
            *gradients, dweights, dbias = others
            (dy,) = before_activation(p.activation, gradients)
            sums, totals = share_arrays(p)
            run((framed(layer, x), dy, sums, totals), sizes, shares * p.maps, threads)
            add_shares(sums, totals, dweights, dbias)

        return call


STRATEGY = RowVectors()


@last_kernels
def kernel(tall: int, wide: int, lanes: int, registers: int) -> Native:
    """The kernel for masks of this size."""
    to, most = Writer(), registers - _OTHER_REGISTERS
    taps = [(r, s) for r in range(tall) for s in range(wide)]
    groups = [taps[first : first + most] for first in range(0, len(taps), most)]
    with to.block("def kernel(x, dy, sums, totals, sizes, begin, end):"):
        to.line(*(f"{name} = sizes[{k}]" for k, name in enumerate(_SIZES)))
        to.line(f"held = np.empty({(most + 1) * lanes}, np.float32)")
        to.line(f"whole = columns // {lanes} * {lanes}", "rest = columns - whole")
        with to.block("for unit in range(begin, end):"):
            to.line("share, m = unit // maps, unit % maps")
            to.line("first, end_image = images * share // shares, images * (share + 1) // shares")
            with to.block("for c in range(channels):"):
                if len(groups) > _WRITTEN_OUT:
                    _emit_loops(to, tall, wide, most, lanes)
                else:
                    for number, group in enumerate(groups):
                        place = f"(unit * channels + c) * {len(taps)} + {number * most}"
                        _emit_group(to, group, lanes, place)
    return source("conv2d_weights_gradient_rows", to.text(), lanes=lanes)


def _emit_loops(to: Writer, tall: int, wide: int, most: int, lanes: int) -> None:
    """Write loops over the groups of a mask: some whole rows of it, or part of one."""
    high, across = max(1, most // wide), min(wide, most)
    for top, turns, rows in _parts(tall, high):
        with to.loop("group", turns) as g:
            to.line(f"top = {top} + {g} * {rows}")
            for left, several, columns in _parts(wide, across):
                with to.loop("part", several) as k:
                    to.line(f"left = {left} + {k} * {columns}")
                    to.line("corner = top * width + left")
                    taps = [(r, s) for r in range(rows) for s in range(columns)]
                    place = f"((unit * channels + c) * {tall} + top) * {wide} + left"
                    _emit_group(to, taps, lanes, place, "at + corner")


def _parts(total: int, size: int) -> list[tuple[int, int, int]]:
    """First index, number and size of the parts of a total: whole ones, and the rest."""
    whole, rest = divmod(total, size)
    return [part for part in ((0, whole, size), (whole * size, 1, rest)) if part[1] and part[2]]


def _emit_group(
    to: Writer, group: list[tuple[int, int]], lanes: int, place: str, origin: str = "at"
) -> None:
    """Write the sums of some taps in one channel over a share's images, and of the bias.

    ``origin`` is the index of the pixel of the mask's, or the group's, first tap.

    An image's sums are added to the others' in memory, so that long sums lose little.
    """
    names = [*(f"s{k}" for k in range(len(group))), "bias"]
    for k in range(len(names)):
        to.line(f"store(held, {k * lanes}, splat(float32(0.0)))")
    with to.block("for n in range(first, end_image):"):
        to.line(*(f"{name} = splat(float32(0.0))" for name in names))
        with to.block("for i in range(rows):"):
            to.line("row = ((n * maps + m) * rows + i) * columns")
            to.line("at = ((n * channels + c) * height + i * down) * width")
            with to.block(f"for j in range(0, whole, {lanes}):"):
                to.line("given = load(dy, row + j)", "bias = add(bias, given)")
                for name, (r, s) in zip(names, group, strict=False):
                    seen = f"load(x, {origin} + {r} * width + j + {s})"
                    to.line(f"{name} = fma(given, {seen}, {name})")
            with to.block("if rest != 0:"):
                to.line("given = load_part(dy, row + whole, rest)", "bias = add(bias, given)")
                for name, (r, s) in zip(names, group, strict=False):
                    seen = f"load_part(x, {origin} + {r} * width + whole + {s}, rest)"
                    to.line(f"{name} = fma(given, {seen}, {name})")
        for k, name in enumerate(names):
            to.line(f"store(held, {k * lanes}, add(load(held, {k * lanes}), {name}))")
    to.line(f"to = {place}")
    for k in range(len(group)):
        to.line(f"sums[to + {k}] = total(load(held, {k * lanes}))")
    to.line(f"totals[unit] = total(load(held, {len(group) * lanes}))")
