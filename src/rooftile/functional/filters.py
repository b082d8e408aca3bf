"""Filters: convolution along one axis, and separable masks in two."""

from __future__ import annotations

from typing import Any, cast

from rooftile.devices.select import DeviceName
from rooftile.errors import InputError
from rooftile.functional._call import remembered, run
from rooftile.functional.padding import Around, around, centred, is_padded
from rooftile.ops import Precision
from rooftile.ops.boundary import BOUNDARIES, Boundary
from rooftile.ops.patterns.conv1d import Conv1d
from rooftile.ops.patterns.separable import AROUND, Separable
from rooftile.ops.patterns.separable import Around as Bounded
from rooftile.ops.problem import Computed
from rooftile.runtime.arguments import ANY, Arguments, Array, computed_in
from rooftile.runtime.calls.fast_path import repeated


@repeated("x", "mask")
def conv1d(
    x: Array,
    mask: Array,
    *,
    boundary: Around = "zero",
    precision: Precision = "ieee",
    strategy: str | None = None,
    device: DeviceName | None = None,
    out: Array | None = None,
) -> Array:
    """The cross-correlation of x with a mask along the last axis.

    x[n] and mask[k] give y[outputs]; x[batch, channels, n] and mask[maps, channels, k], whose
    channels are summed, give y[batch, maps, outputs].  The mask's centre is tap (k - 1) // 2; the
    mask may be longer than x.  ``boundary`` gives the elements beyond x's ends: ``zero``,
    ``replicate`` of its first and last element, ``reflect`` (the mirror image without its first
    element), ``wrap`` (the other end) and ``symmetric`` (the mirror image with its first element)
    as `numpy.pad` has them; with all of these there are n outputs.  ``valid`` leaves out the
    outputs whose mask would leave x: n - k + 1 are left, and a mask longer than x is an error.
    ``interior`` makes n outputs, of which the others are zeros.

    Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., section 7.1.
    """
    if is_padded(boundary, BOUNDARIES):
        # A call of its own: a call that is kept reads x without a copy.
        options: Any = {"precision": precision, "strategy": strategy, "device": device, "out": out}
        extended: Array = around(x, centred(mask, 1), boundary)
        made: Array = conv1d(extended, mask, boundary="valid", **options)
        return made
    given = Arguments(x, double=True)
    signal = given.take("x", x, ANY)
    if len(signal.shape) not in (1, 3):
        expected = "1: [n], or 3: [batch, channels, n]"
        raise InputError("x", f"{len(signal.shape)} axes {tuple(signal.shape)}", expected)
    axes = "k" if len(signal.shape) == 1 else "maps, channels, k"
    taps = given.take("mask", mask, axes)
    dtype = computed_in(given.dtype)
    problem = _conv1d(tuple(signal.shape), tuple(taps.shape), cast(Boundary, boundary), dtype)
    return run(given, problem, [signal], {"weights": taps}, precision, strategy, device, out)


@remembered
def _conv1d(
    signal: tuple[int, ...], taps: tuple[int, ...], boundary: Boundary, dtype: Computed
) -> Conv1d:
    if len(signal) == 1:
        return Conv1d(signal[0], taps[0], boundary, dtype=dtype)
    batch, channels, length = signal
    if taps[1] != channels:
        raise InputError("mask", f"{taps[1]} channels", f"x's {channels} channels")
    return Conv1d(length, taps[2], boundary, batch, channels, taps[0], 3, dtype)


@repeated("x", "column", "row")
def separable(
    x: Array,
    column: Array,
    row: Array,
    *,
    boundary: Around = "zero",
    precision: Precision = "ieee",
    strategy: str | None = None,
    device: DeviceName | None = None,
    out: Array | None = None,
) -> Array:
    """The cross-correlation of images with the mask ``column[:, None] * row``, in two passes.

    x[height, width] or x[batch, height, width], column[kh] and row[kw] give y[rows, columns] or
    y[batch, rows, columns].  The column's sums are made first, then the row's.  The mask's centre
    is ((kh - 1) // 2, (kw - 1) // 2); the mask may be larger than the images.  ``boundary`` gives
    the elements around them: ``zero``, ``replicate`` of the elements at their rims, ``reflect``,
    ``wrap`` and ``symmetric`` as `conv1d` has them; with all of these y has x's shape.  ``valid``
    leaves out the outputs whose mask would leave an image; a mask larger than the images is an
    error then.

    Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., section 7.1;
    Podlozhnyuk, "Image Convolution with CUDA" (NVIDIA, 2007).
    """
    if is_padded(boundary, AROUND):
        widths = (*centred(column, 1), *centred(row, 1))
        options: Any = {"precision": precision, "strategy": strategy, "device": device, "out": out}
        extended: Array = around(x, widths, boundary)
        made: Array = separable(extended, column, row, boundary="valid", **options)
        return made
    given = Arguments(x, double=True)
    images = given.take("x", x, ANY)
    if len(images.shape) not in (2, 3):
        expected = "2: [height, width], or 3: [batch, height, width]"
        raise InputError("x", f"{len(images.shape)} axes {tuple(images.shape)}", expected)
    masks = {"column": given.take("column", column, "kh"), "row": given.take("row", row, "kw")}
    taps = masks["column"].shape[0], masks["row"].shape[0]
    known = cast(Bounded, boundary)
    problem = _separable(tuple(images.shape), taps, known, computed_in(given.dtype))
    return run(given, problem, [images], masks, precision, strategy, device, out)


@remembered
def _separable(
    images: tuple[int, ...], taps: tuple[int, int], boundary: Bounded, dtype: Computed
) -> Separable:
    height, width = images[-2:]
    batch = images[0] if len(images) == 3 else 1
    return Separable(height, width, taps, boundary, batch, len(images), dtype)
