"""Ghost cells that repeat the input: an array is extended before a function that needs none.

`reflect`, `wrap` and `symmetric` are the words of `numpy.pad`, `replicate` is its `edge`.  The
extended array is a choice of the input's elements, which `permute_columns` makes in one pass over
it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Literal, cast

import numpy as np

from rooftile.devices import cuda
from rooftile.devices.cuda import CudaArray
from rooftile.errors import InputError, check_word
from rooftile.functional._call import remembered, run
from rooftile.ops.boundary import Boundary
from rooftile.ops.checks import pair
from rooftile.ops.patterns.permute_columns import PermuteColumns
from rooftile.ops.problem import AnyArray
from rooftile.runtime.arguments import ANY, FLOATS, Arguments, Array, dtype_of, flattened

Around = Boundary | Literal["reflect", "wrap", "symmetric"]
"""Values of ghost cells: see `rooftile.ops.boundary`.  ``reflect``: the mirror image of the axis,
whose first and last element are not repeated (`reflect` of PyTorch, `mirror` of SciPy).  ``wrap``:
the axis begins anew (PyTorch's ``circular``).  ``symmetric``: the mirror image whose first and last
element are repeated (SciPy's ``reflect``)."""
PADDED = ("reflect", "wrap", "symmetric")
"""The boundaries for which the input is extended first, where strategies know the others."""
PADDED_VOLUMES = (*PADDED, "replicate")
"""Boundaries that are padded for functions whose strategies know ``zero`` and ``valid`` alone."""

Widths = tuple[tuple[int, int], ...]
"""Ghost cells before and after each of the last axes."""


def is_padded(boundary: str, known: Sequence[str], padded: Sequence[str] = PADDED) -> bool:
    """True if the input is to be padded. Raises `InputError` for an unknown boundary."""
    check_word("boundary", boundary, (*known, *padded))
    return boundary in padded


def centred(mask: Any, axes: int) -> Widths:
    """The ghost cells that a mask of this many axes meets, whose centre is tap (size - 1) // 2.

    Of a mask with fewer axes there are none: the function says what is wrong with it.
    """
    shape = tuple(getattr(mask, "shape", ()))
    if len(shape) < axes:
        return ()
    return tuple(((size - 1) // 2, size // 2) for size in shape[len(shape) - axes :])


def around(x: Array, widths: Widths, boundary: str) -> Array:
    """x with ghost cells around its last axes; its elements are moved as they are.

    Raises `InputError` for an x with fewer
    axes, and for one without elements to repeat.
    """
    if not any(map(any, widths)):
        return x
    given = Arguments(x)
    array = given.take("x", x, ANY, dtypes=(*FLOATS, "float64"), empty=True)
    shape = tuple(array.shape)
    if len(shape) < len(widths):
        # The function says how many there are.
        return x
    lead, inner = shape[: len(shape) - len(widths)], shape[len(shape) - len(widths) :]
    if 0 in inner:
        raise InputError("x", f"the empty shape {shape}", f"elements to {boundary}")
    dtype = dtype_of(array)
    sizes = tuple(n + sum(width) for n, width in zip(inner, widths, strict=True))
    rows, columns = math.prod(lead), math.prod(inner)
    if not rows:
        return given.nothing(array, (*lead, *sizes), dtype, None, None)
    problem = _permute_columns(rows, columns, math.prod(sizes), dtype)
    matrix = flattened(array, (rows, columns))
    if isinstance(array, CudaArray):
        index: Any = _index_on_gpu(array.device, inner, widths, boundary)
    else:
        index = _index(inner, widths, boundary)
    inputs = [matrix, index]
    return run(given, problem, inputs, {}, "ieee", None, None, None, (*lead, *sizes))


Sides = tuple[int, int] | tuple[tuple[int, int], tuple[int, int]] | Literal["same", "valid"]
"""Padding of images where it is no number for all sides: (vertical, horizontal), ((above, below),
(left, right)), ``valid`` for none, or ``same`` for as much as makes the result as large as the
image over the stride, of which the odd row or column is below or to the right (ONNX's
``SAME_UPPER``, PyTorch's ``same``)."""


def checked_padding(padding: int | Sides) -> Widths | Literal["same"]:
    """Padding before and after each of two axes, or ``same``.  Raises `InputError`."""
    if isinstance(padding, str):
        check_word("padding", padding, ("same", "valid"))
        return "same" if padding == "same" else ((0, 0), (0, 0))
    if isinstance(padding, tuple | list) and any(isinstance(one, tuple | list) for one in padding):
        if len(padding) != 2:
            raise InputError("padding", repr(padding), "((above, below), (left, right))")
        given: Any = padding
        return pair("padding", given[0], 0), pair("padding", given[1], 0)
    above, left = pair("padding", cast(Any, padding), 0)
    return (above, above), (left, left)


def sides(
    padding: int | Sides,
    image: Sequence[int],
    mask: Sequence[int],
    stride: int | tuple[int, int],
    dilation: int | tuple[int, int],
) -> Widths:
    """Padding before and after the rows and the columns of an image.  Raises `InputError`."""
    found = checked_padding(padding)
    if found != "same":
        return found
    steps, apart = pair("stride", stride, 1), pair("dilation", dilation, 1)
    widths = []
    for size, taps, step, wide in zip(image, mask, steps, apart, strict=True):
        total = max(((-(-size // step)) - 1) * step + (taps - 1) * wide + 1 - size, 0)
        widths.append((total // 2, total - total // 2))
    return tuple(widths)


def around_images(
    x: Array,
    mask: Sequence[int],
    padding: int | Sides,
    stride: int | tuple[int, int],
    dilation: int | tuple[int, int],
    boundary: str,
) -> Array:
    """Images with ghost cells on all sides, for masks of these rows and columns."""
    image = tuple(getattr(x, "shape", ()))[-2:]
    if len(image) < 2 or len(mask) < 2:
        # The function says how many axes there are.
        return x
    return around(x, sides(padding, image, mask, stride, dilation), boundary)


@lru_cache(maxsize=64)
def _index(inner: tuple[int, ...], widths: Widths, boundary: str) -> AnyArray:
    """Flat indices int32 into the last axes for every element of the padded axes."""
    places = [_along(n, *width, boundary) for n, width in zip(inner, widths, strict=True)]
    index = np.ravel_multi_index(np.ix_(*places), inner).reshape(-1)
    if math.prod(inner) > np.iinfo(np.int32).max:
        raise InputError("x", f"{math.prod(inner)} elements", "fewer than 2^31 to extend")
    made = index.astype(np.int32)
    made.flags.writeable = False
    return made


def _along(size: int, before: int, behind: int, boundary: str) -> AnyArray:
    """Indices into an axis for every element of the padded axis."""
    places = np.arange(-before, size + behind)
    if boundary == "replicate":
        return np.clip(places, 0, size - 1)
    if boundary == "wrap" or size == 1:
        return places % size
    last = size - 1 if boundary == "reflect" else size
    period = 2 * last
    places %= period
    return np.minimum(places, period - places - (boundary == "symmetric"))


@lru_cache(maxsize=64)
def _index_on_gpu(gpu: int, inner: tuple[int, ...], widths: Widths, boundary: str) -> CudaArray:
    """The same in a GPU's memory, where it stays."""
    from rooftile.devices.cuda.exchange import allocate_for_export

    values, device = _index(inner, widths, boundary), cuda.lent_device(gpu)
    with device.on():
        made = allocate_for_export(device, values.shape, "int32")
        device.copy_in(values, made.address)
        device.synchronise()
    return made


_permute_columns = remembered(PermuteColumns)
