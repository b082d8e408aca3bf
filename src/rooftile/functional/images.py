"""Pictures of bytes: brightness, blur, gray levels spread evenly."""

from __future__ import annotations

from collections.abc import Sequence

from rooftile.devices.select import DeviceName
from rooftile.errors import InputError
from rooftile.functional._call import remembered, run
from rooftile.ops.patterns.box_blur import BoxBlur
from rooftile.ops.patterns.equalize import Equalize
from rooftile.ops.patterns.grayscale import Grayscale, fixed
from rooftile.runtime.arguments import ANY, Arguments, Array, Taken
from rooftile.runtime.calls.plain import plain

_BYTES = ("uint8",)
BOOK = (0.21, 0.72, 0.07)
"""The weights of red, green and blue in Kirk, Hwu and El Hajj's book; their sum is one."""


@plain
def grayscale(
    image: Array,
    weights: Sequence[float] = BOOK,
    *,
    strategy: str | None = None,
    device: DeviceName | None = None,
    out: Array | None = None,
) -> Array:
    """The brightness of every pixel: uint8[height, width] of uint8[height, width, 3].

    ``weights`` of red, green and blue are none below 0 and in sum at most 1.  Each is rounded to a
    multiple of 2^-16; the sum of the weighted colours is rounded to the nearest integer, halves
    up.  Every device gives the same bytes.

    Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., section 3.2.
    """
    multiples = fixed(weights)
    given = Arguments(image, "image")
    array = given.take("image", image, "height, width, 3", dtypes=_BYTES)
    height, width, colours = array.shape
    if colours != 3:
        raise InputError("image", f"{colours} channels", "3: red, green and blue")
    problem = _grayscale(height, width, multiples)
    return run(given, problem, [array], {}, "ieee", strategy, device, out)


@plain
def box_blur(
    image: Array,
    radius: int,
    *,
    strategy: str | None = None,
    device: DeviceName | None = None,
    out: Array | None = None,
) -> Array:
    """The mean of the square window around every pixel, rounded down.

    ``image`` is uint8[height, width] or uint8[height, width, 3], whose channels are blurred apart.
    The window has 2 radius + 1 rows and columns; of one that leaves the picture only what is
    inside counts, in sum and divisor.  ``radius`` is 0 to 1000 pixels.  Every device gives the same
    bytes.

    Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., section 3.3.
    """
    given = Arguments(image, "image")
    array, channels = _picture(given, image)
    height, width, *_ = array.shape
    problem = _box_blur(height, width, radius, channels)
    return run(given, problem, [array], {}, "ieee", strategy, device, out)


@plain
def equalize(
    image: Array,
    *,
    strategy: str | None = None,
    device: DeviceName | None = None,
    out: Array | None = None,
) -> Array:
    """A picture whose gray levels are spread evenly: its histogram equalised.

    ``image`` is uint8[height, width, 3] or uint8[height, width].  One table of 256 values is made
    from the gray levels and applied to every byte (see `rooftile.ops.patterns.equalize` for the
    rule).  A picture of a single gray level stays as it is.  Every device gives the same bytes.

    Source: Gonzalez, Woods, "Digital Image Processing", 4th ed., section 3.3.
    """
    given = Arguments(image, "image")
    array, channels = _picture(given, image)
    height, width, *_ = array.shape
    problem = _equalize(height, width, channels)
    return run(given, problem, [array], {}, "ieee", strategy, device, out)


def _picture(given: Arguments[Array], image: Array) -> tuple[Taken, int]:
    """The checked picture, and its channels."""
    array = given.take("image", image, ANY, dtypes=_BYTES)
    shape = tuple(array.shape)
    if len(shape) not in (2, 3) or shape[2:] not in ((), (3,)):
        raise InputError("image", f"shape {shape}", "[height, width] or [height, width, 3]")
    return array, 3 if len(shape) == 3 else 1


_grayscale, _box_blur = remembered(Grayscale), remembered(BoxBlur)
_equalize = remembered(Equalize)
