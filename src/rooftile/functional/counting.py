"""Counting: histograms, and values that meet at places of an array."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rooftile.devices.select import DeviceName
from rooftile.errors import InputError
from rooftile.functional._call import remembered, run
from rooftile.ops.histogram import DTYPES, Histogram
from rooftile.ops.problem import is_whole
from rooftile.ops.scatter import DTYPES as SCATTERED
from rooftile.ops.scatter import Function, Scatter
from rooftile.runtime.arguments import ANY, Arguments, Array, Taken
from rooftile.runtime.nothing import is_empty, of_nothing
from rooftile.runtime.repeats import repeated


def histogram(
    x: Array,
    bins: int | Array = 256,
    range: tuple[float, float] | None = None,
    weights: Array | None = None,
    *,
    strategy: str | None = None,
    device: DeviceName | None = None,
    out: Array | None = None,
) -> Array:
    """How many elements of x lie in each bin, int64[bins]; with weights, their sums, float32[bins].

    x is uint8, int32 or float32 of any shape, and weights float32 of the same.  ``bins`` is their
    number, 1 to 2^22, or the edges, an array of x's library of [bins + 1] float32 (int32 for
    integers) that rises.  Bins of one width share out ``range``, two numbers, which are rounded to
    float32 for x of float32; without it, 0 to 256 for uint8, else x's least and largest number,
    which are looked for first and waited for.  Bin i holds edge i <= x < edge i + 1, and the last
    one its upper edge too; what lies in none, NaN included, is left out.  Counts are NumPy's, but
    that edges are compared exactly.  Counts are the same in every run; sums of weights may differ
    by their order on a GPU.

    Raises `InputError` for edges that do not rise where they lie in the CPU's memory; elsewhere
    they are not looked at.

    Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., chapter 9.
    """
    if is_whole(bins) and weights is None:
        low, high = _range(x, range)
        return _even(
            x, bins=int(bins), low=low, high=high, strategy=strategy, device=device, out=out
        )
    given = Arguments(x)
    inputs = [_flat(given.take("x", x, ANY, dtypes=DTYPES, empty=True))]
    dtype = _dtype(inputs[0])
    if is_whole(bins):
        low, high = _fitting(*_range(x, range), dtype)
        count, edges = int(bins), False
    else:
        if range is not None:
            raise InputError("range", range, "None: bins are edges")
        inputs.append(_edges(given, bins, dtype))
        count, edges, low, high = inputs[1].shape[0] - 1, True, 0.0, 1.0
    if weights is not None:
        inputs.append(_weights(given, weights, x))
    size = inputs[0].shape[0]
    problem = _histogram(max(size, 1), count, low, high, dtype, edges, weights is not None)
    return _counted(given, problem, inputs, strategy, device, out)


@repeated("x")
def _even(
    x: Array,
    *,
    bins: int,
    low: float,
    high: float,
    strategy: str | None,
    device: DeviceName | None,
    out: Array | None = None,
) -> Array:
    given = Arguments(x)
    array = _flat(given.take("x", x, ANY, dtypes=DTYPES, empty=True))
    dtype = _dtype(array)
    problem = _histogram(max(array.shape[0], 1), bins, *_fitting(low, high, dtype), dtype)
    return _counted(given, problem, [array], strategy, device, out)


def _counted(
    given: Arguments[Array],
    problem: Histogram,
    inputs: list[Taken],
    strategy: str | None,
    device: DeviceName | None,
    out: Array | None,
) -> Array:
    """The histogram; that of no elements has nothing in any bin."""
    if is_empty(inputs[0]):
        (counts,) = problem.output_arrays
        return of_nothing(given, inputs[0], counts.shape, counts.dtype, device, out)
    return run(given, problem, inputs, {}, "ieee", strategy, device, out)


def _dtype(array: Taken) -> Any:
    return getattr(array.dtype, "name", array.dtype)


def _flat(array: Taken) -> Taken:
    """The same elements in a row."""
    if isinstance(array, np.ndarray):
        return array.reshape(-1)
    return replace(array, shape=(math.prod(array.shape),))


def _edges(given: Arguments[Any], bins: Any, dtype: str) -> Taken:
    kind = "float32" if dtype == "float32" else "int32"
    edges = given.take("bins", bins, "edges", dtypes=(kind,))
    if edges.shape[0] < 2:
        raise InputError("bins", f"{edges.shape[0]} edges", "a number, or at least two edges")
    if isinstance(edges, np.ndarray) and not (edges[1:] >= edges[:-1]).all():
        raise InputError("bins", "edges that fall, or are no numbers", "edges that rise")
    return edges


def _weights(given: Arguments[Any], weights: Any, x: Any) -> Taken:
    held = given.take("weights", weights, ANY, dtypes=("float32",), empty=True)
    if tuple(held.shape) != tuple(x.shape):
        raise InputError("weights", f"shape {tuple(held.shape)}", f"x's shape {tuple(x.shape)}")
    return _flat(held)


def _range(x: Any, given: Sequence[float] | None) -> tuple[float, float]:
    """The ends of the bins, as NumPy has them but for bytes."""
    if given is not None:
        try:
            low, high = (float(end) for end in given)
        except (TypeError, ValueError):
            raise InputError("range", repr(given), "two numbers") from None
        return low, high
    if str(getattr(x, "dtype", "")).endswith("uint8"):
        return 0.0, 256.0
    try:
        return float(x.min()), float(x.max())
    except (AttributeError, TypeError, ValueError, RuntimeError):
        # The checks of x say what is wrong with it.
        return 0.0, 1.0


def _fitting(low: float, high: float, dtype: str) -> tuple[float, float]:
    """As numbers of the dtype; a range without width becomes one wide, as NumPy has it."""
    if dtype == "float32":
        low, high = float(np.float32(low)), float(np.float32(high))
    return (low - 0.5, high + 0.5) if low == high else (low, high)


_histogram = remembered(Histogram)


def scatter(
    x: Array,
    index: Array,
    values: Array | None = None,
    function: Function = "add",
    *,
    strategy: str | None = None,
    device: DeviceName | None = None,
    out: Array | None = None,
) -> Array:
    """x, with every ``values[i]`` joined to element ``index[i]``, in any order.

    x[places] is int32, int64, float32 or float64, ``values``[count] of the same dtype, ``index``
    int32 or int64[count].  ``function`` is ``add``, ``subtract``, ``min``, ``max``, ``multiply``,
    ``exchange`` (of the values for one place any is left there), or ``increment`` or ``decrement``,
    which count by one and take no values.  Integers wrap around; the least and the greatest are NaN
    where either is.  An index outside of x is an error where it lies in the CPU's memory; on a GPU
    nobody waits to look, and its value is left out.  Sums and products of floating-point numbers
    may differ in their last bits from run to run on a GPU.

    Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., section 9.2.
    """
    given = Arguments(x)
    array = given.take("x", x, "places", dtypes=SCATTERED)
    wanted = given.take("index", index, "count", dtypes=("int32", "int64"))
    (places,), (count,), dtype = array.shape, wanted.shape, _dtype(array)
    problem = _scatter(count, places, function, dtype, _dtype(wanted))
    if isinstance(wanted, np.ndarray) and (wanted.min() < 0 or wanted.max() >= places):
        found = f"places from {wanted.min()} to {wanted.max()}"
        raise InputError("index", found, f"places from 0 to {places - 1}")
    inputs = [array, wanted]
    if (values is not None) != problem.has_values:
        found = "None" if values is None else "an array"
        expected = "an array, one value for each index" if problem.has_values else "None"
        raise InputError("values", found, f"{expected}, for {function}")
    if values is not None:
        held = given.take("values", values, "count", dtypes=(dtype,))
        if held.shape[0] != count:
            raise InputError("values", f"{held.shape[0]} elements", f"{count}, as index has")
        inputs.append(held)
    return run(given, problem, inputs, {}, "ieee", strategy, device, out)


_scatter = remembered(Scatter)
