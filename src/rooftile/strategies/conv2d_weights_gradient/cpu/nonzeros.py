"""`nonzeros`: only gradients that are not zero, a row of the mask in a vector.

A gradient is multiplied by the pixels that its output saw: their rows are adjacent, so that a
vector holds a row of the mask's sums, and a channel's sums stay in registers while some hundred
gradients pass. A unit is a map in a share of the images.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from rooftile.devices import cpu
from rooftile.devices.cpu.emit import Writer
from rooftile.devices.cpu.native import Native, last_kernels, source, vector
from rooftile.ops import AnyArray
from rooftile.ops.features import features
from rooftile.ops.gradients.conv2d_weights_gradient import Conv2dWeightsGradient
from rooftile.strategies import HostStrategy
from rooftile.strategies.common.convolution_gradients import before_activation, framed
from rooftile.strategies.common.nonzeros import (
    emit_collection,
    emit_finite,
    emit_room,
    reciprocal,
    taps,
    why_not_places,
)
from rooftile.strategies.contract.costs import Work
from rooftile.strategies.conv2d_weights_gradient.cpu._shares import (
    add_shares,
    filled_lanes,
    share_arrays,
    shares_of,
)

_SUMS = 12
"""Vectors of sums that stay in registers with the loaded ones."""
_WRITTEN_OUT = 4
"""Blocks of rows that are written one behind the other."""
_SIZES = (
    "channels", "height", "width", "maps", "down", "right", "rows", "columns", "images", "shares",
    "across", "reciprocal",
)  # fmt: skip


class Nonzeros(HostStrategy):
    """Takes masks whose rows fit into registers."""

    operation = "conv2d_weights_gradient"
    name = "nonzeros"
    summary = "only gradients that are not zero, a row of the mask in a vector"
    takes = features("activation:* padding pool:max stride")

    def limits(self, problem: Conv2dWeightsGradient) -> str | None:
        most = _SUMS * vector.lanes()
        wide = problem.mask[1]
        if wide > most:
            return f"a mask is {wide} wide, its rows hold at most {most}"
        return why_not_places(problem.layer)

    def units(self, problem: Conv2dWeightsGradient) -> int:
        return shares_of(problem) * problem.maps

    def work(self, problem: Conv2dWeightsGradient) -> Work:
        """See `Strategy.work`: a row of the mask takes whole vectors."""
        return replace(super().work(problem), flops=problem.flops / filled_lanes(problem.mask[1]))

    def prepare(
        self, problem: Conv2dWeightsGradient, parameters: tuple[AnyArray, ...], threads: int
    ) -> Callable[..., None]:
        p, (above, left) = problem, problem.padding
        shares, pooled = shares_of(p), p.pool is not None
        dtypes = ["float32", "float32", *(["int32"] if pooled else ())]
        run = cpu.Spread(
            _kernel(*p.mask, pooled, vector.lanes()), [*dtypes, "int64", "float32", "float32"]
        )
        finite = _finite(vector.lanes())
        padded = (p.height + 2 * above, p.width + 2 * left)
        sizes = cpu.sizes_of(
            p.channels, *padded, p.maps, *p.stride, *p.layer.output_size, p.images, shares,
            p.layer.conv_size[1], reciprocal(p.layer),
        )  # fmt: skip

        def call(x: AnyArray, *others: AnyArray) -> None:
            *gradients, dweights, dbias = others
            gradients = before_activation(p.activation, gradients)
            x = framed(p.layer, x)
            flags = np.empty(p.images, np.int64)
            sums, totals = share_arrays(p)
            finite((x, flags), cpu.sizes_of(x[0].size), p.images, threads)
            run((x, *gradients, flags, sums, totals), sizes, shares * p.maps, threads)
            add_shares(sums, totals, dweights, dbias)

        return call


STRATEGY = Nonzeros()


@last_kernels
def _finite(lanes: int) -> cpu.Spread:
    """Says of each image whether all of it is finite."""
    to = Writer()
    emit_finite(to, lanes)
    with (
        to.block("def kernel(x, flags, sizes, begin, end):"),
        to.block("for n in range(begin, end):"),
    ):
        to.line("flags[n] = finite(x, n * sizes[0], sizes[0])")
    return cpu.Spread(source("finite_images", to.text()), ("float32", "int64"))


@last_kernels
def _kernel(tall: int, wide: int, pooled: bool, lanes: int) -> Native:
    """The kernel for masks of this size."""
    to = Writer()
    _emit_spend(to, tall, wide, lanes)
    spend = (
        "totals[unit] += spend(x, places, values, held, height * width, width, channels, sums, to)"
    )
    given = "dy, where" if pooled else "dy"
    with to.block(f"def kernel(x, {given}, flags, sums, totals, sizes, begin, end):"):
        to.line(*(f"{name} = sizes[{k}]" for k, name in enumerate(_SIZES)))
        emit_room(to)
        with to.block("for unit in range(begin, end):"):
            to.line("share, m = unit // maps, unit % maps")
            to.line(f"count, image = channels * {tall * wide}, channels * height * width")
            to.line("to, totals[unit] = unit * count, 0.0")
            with to.block("for k in range(to, to + count):"):
                to.line("sums[k] = 0.0")
            with to.block(
                "for n in range(images * share // shares, images * (share + 1) // shares):"
            ):
                to.line("zeros = 1 - flags[n]")
                to.line("plane = (n * maps + m) * rows * columns")
                emit_collection(to, lanes, pooled, "n * image", spend)
            to.line(spend, "held = 0")
    return source("conv2d_weights_gradient", to.text(), lanes=lanes, passes="simplify")


def _emit_spend(to: Writer, tall: int, wide: int, lanes: int) -> None:
    """Write ``spend``: add what the held gradients bring to a map's sums, and give their total."""
    vectors = taps(wide, lanes)
    block = max(1, _SUMS // len(vectors))
    with to.block("def spend(x, places, values, held, plane, width, channels, sums, to):"):
        # Many equal blocks of rows are a loop: their text would grow with the mask.
        looped = tall // block * block if tall > _WRITTEN_OUT * block else 0
        with to.block("for c in range(channels):"):
            if looped:
                with to.block(f"for top in range(0, {looped}, {block}):"):
                    _emit_rows(to, range(block), vectors, tall, wide, "top + ")
            for top in range(looped, tall, block):
                rows = range(top, min(tall, top + block))
                _emit_rows(to, rows, vectors, tall, wide)
        to.line("sum = splat(float32(0.0))")
        with to.block(f"for k in range(0, held, {lanes}):"):
            to.line(f"sum = add(sum, load_part(values, k, min({lanes}, held - k)))")
        to.line("return total(sum)")
    to.line("", "")


def _emit_rows(
    to: Writer,
    rows: range,
    vectors: list[tuple[int, int]],
    tall: int,
    wide: int,
    before: str = "",
) -> None:
    """Write the sums of some rows of the mask in one channel; ``before`` is added to the rows."""
    sums = [(f"s{r}_{first}", r, first, count) for r in rows for first, count in vectors]
    to.line(*(f"{name} = splat(float32(0.0))" for name, *_ in sums))
    with to.block("for k in range(held):"):
        to.line("value, at = splat_at(values, k), places[k] + c * plane")
        for name, r, first, count in sums:
            seen = f"load_part(x, at + ({before}{r}) * width + {first}, {count})"
            to.line(f"{name} = fma(value, {seen}, {name})")
    for name, r, first, count in sums:
        place = f"to + (c * {tall} + {before}{r}) * {wide} + {first}"
        to.line(f"{name} = add({name}, load_part(sums, {place}, {count}))")
        to.line(f"store_part(sums, {place}, {name}, {count})")
