"""Text for kernels that visit the non-zero gradients of a convolution.

After a max-pool there is one a window, with its place: of lenet5's second convolution one for
sixteen outputs. They are collected, each with its place in the image, some hundred at a time. A
gradient of zero is left out only if all numbers that it meets are finite, since zero times infinity
is not zero.
"""

from __future__ import annotations

from rooftile.devices.cpu.emit import Writer
from rooftile.ops import Conv2d

COLLECTED = 512
"""Gradients, with their places, that wait to be used."""
_AT_A_TIME = 128
"""Places that are read between two tests for room."""
_SHIFT = 40
"""A place is divided by a row's length as (place * reciprocal) >> 40."""


def taps(wide: int, lanes: int) -> list[tuple[int, int]]:
    """First tap and number of taps of each vector that a row of the mask takes."""
    return [(first, min(lanes, wide - first)) for first in range(0, wide, lanes)]


def reciprocal(layer: Conv2d) -> int:
    """The factor of `_SHIFT`: places times it, shifted, are rows."""
    return ((1 << _SHIFT) - 1) // layer.conv_size[1] + 1


def why_not_places(layer: Conv2d) -> str | None:
    """Why places cannot be divided like this, or None: the reciprocal's error must not count."""
    rows, columns = layer.conv_size
    if rows * columns * columns < 1 << _SHIFT:
        return None
    return f"planes of {rows} by {columns} are too large to divide a place by multiplying"


def emit_finite(to: Writer, lanes: int) -> None:
    """Write ``finite(a, start, count)``: 1 where all of these numbers are finite, else 0."""
    names = [f"s{k}" for k in range(4)]
    step = lanes * len(names)
    with to.block("def finite(a, start, count):"):
        to.line("nothing = splat(float32(0.0))", *(f"{name} = nothing" for name in names))
        to.line(f"whole = start + count // {step} * {step}")
        with to.block(f"for k in range(start, whole, {step}):"):
            for place, name in enumerate(names):
                to.line(f"{name} = fma(load(a, k + {place * lanes}), nothing, {name})")
        with to.block(f"for k in range(whole, start + count, {lanes}):"):
            part = f"load_part(a, k, min({lanes}, start + count - k))"
            to.line(f"s0 = fma({part}, nothing, s0)")
        to.line("return 0 if has_nan(add(add(s0, s1), add(s2, s3))) else 1")
    to.line("", "")


def emit_room(to: Writer) -> None:
    """Write the arrays that gradients are collected in."""
    to.line(
        f"places = np.empty({COLLECTED}, np.int64)",
        f"values = np.empty({COLLECTED}, np.float32)",
        "held = 0",
    )


def emit_collection(to: Writer, lanes: int, pooled: bool, base: str, spend: str) -> None:
    """Write the walk over the gradients of a plane, which begin at ``plane`` in dy.

    ``base`` is the image's place.  Those that are zero are taken too where ``zeros`` is 1.
    ``spend`` is written where there may be no more room.
    """
    if pooled:
        _emit_places(to, base, spend)
    else:
        _emit_all(to, lanes, base, spend)


def _emit_all(to: Writer, lanes: int, base: str, spend: str) -> None:
    """Write the walk over gradients of all outputs, a vector at a time."""
    with (
        to.block("for i in range(rows):"),
        to.block(f"for j in range(0, columns, {lanes}):"),
    ):
        to.line(
            f"count, row = min({lanes}, columns - j), plane + i * columns + j",
            f"at = {base} + i * down * width + j * right",
            "bits = nonzero(load_part(dy, row, count)) | ((1 << count) - 1) * zeros",
        )
        with to.block("while bits != 0:"):
            to.line(
                "k = lowest(bits)",
                "values[held], places[held] = dy[row + k], at + k * right",
                "held += 1",
                "bits &= bits - 1",
            )
        with to.block(f"if held > {COLLECTED} - {lanes}:"):
            to.line(spend, "held = 0")


def _emit_places(to: Writer, base: str, spend: str) -> None:
    """Write the walk over gradients with their places, without a jump for those that are zero."""
    with to.block(f"for first in range(plane, plane + rows * columns, {_AT_A_TIME}):"):
        with to.block(f"for k in range(first, min(first + {_AT_A_TIME}, plane + rows * columns)):"):
            to.line(
                "value, place = dy[k], where[k]",
                f"i = place * reciprocal >> {_SHIFT}",
                "values[held] = value",
                f"places[held] = {base} + i * down * width + (place - i * across) * right",
                "held += np.where(value != float32(0.0), 1, zeros)",
            )
        with to.block(f"if held > {COLLECTED} - {_AT_A_TIME} - 1:"):
            to.line(spend, "held = 0")
