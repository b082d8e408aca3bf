"""Counting: histograms, and values that meet at places of an array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rooftile.devices.select import DeviceName
from rooftile.errors import InputError
from rooftile.functional._call import remembered, run
from rooftile.functional.patterns import reduce
from rooftile.ops.checks import is_whole
from rooftile.ops.patterns.histogram import EDGES, Histogram, rounded
from rooftile.ops.patterns.scatter import DTYPES as SCATTERED
from rooftile.ops.patterns.scatter import Function, Scatter
from rooftile.ops.problem import DTYPES, AnyArray, Dtype, numpy_dtype
from rooftile.runtime.arguments import ANY, Arguments, Array, Taken, dtype_of, flat, is_empty
from rooftile.runtime.arrays.base import NumPy
from rooftile.runtime.calls.fast_path import repeated
from rooftile.runtime.calls.plain import plain
from rooftile.runtime.calls.scalars import placed


@plain
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
    """The number of elements of x in each bin, int64[bins]; with weights, their sums.

    x has any shape and any dtype, and weights the same shape, float32 or float64 (a GPU adds
    float32 alone); sums have their dtype.  ``bins`` is their number, 1 to 2^22, or the edges: an
    array of x's library, which rises, of [bins + 1] elements of a dtype that
    docs/reference/dtypes.md names, and for an x of NumPy any dtype that one of these holds, or a
    list.  Bins of one width share out ``range``, two numbers, which are rounded to x's dtype where
    that is one of floating point.  Without it they share out 0 to 256 for uint8, else x's least to
    largest number, which are looked for first and waited for; where both are one number, 0.5 below
    it to 0.5 above it.  Bin i holds edge i <= x < edge i + 1, and the last one its upper edge too;
    elements in no bin, NaN included, are left out.  Counts are NumPy's, but that edges are compared
    exactly, and that NumPy computes edges of a range that it looks for in float32 for float32.
    Counts are the same in every run; sums of weights may differ by their order on a GPU.

    Raises `InputError` for edges in the CPU's memory that do not rise; edges elsewhere are not
    checked.

    Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., chapter 9.
    """
    as_numpy = range is None and _name_of(x) == "float16"
    even = int(bins) if is_whole(bins) and not as_numpy else None
    if even is not None and weights is None:
        low, high = _range(x, range)
        options: Any = {"strategy": strategy, "device": device, "out": out}
        counts: Array = _even(x, bins=even, low=low, high=high, **options)
        return counts
    given = Arguments(x)
    inputs = [flat(given.take("x", x, ANY, dtypes=DTYPES, empty=True))]
    dtype, of_edges = dtype_of(inputs[0]), None
    if even is not None:
        count, (low, high) = even, _fitting(*_range(x, range), dtype)
    else:
        inputs.append(_given_edges(given, x, inputs[0], bins, range))
        count, low, high = inputs[1].shape[0] - 1, 0.0, 1.0
        of_edges = None if dtype_of(inputs[1]) == EDGES[dtype][0] else dtype_of(inputs[1])
    if weights is not None:
        inputs.append(_weights(given, weights, x))
    sums: Any = "float32" if weights is None else dtype_of(inputs[-1])
    ends = max(inputs[0].shape[0], 1), count, low, high
    problem = _histogram(*ends, dtype, even is None, weights is not None, of_edges, sums)
    return _counted(given, problem, inputs, strategy, device, out)


def _given_edges(
    given: Arguments[Any], x: Any, array: Taken, bins: Any, range: tuple[float, float] | None
) -> Taken:
    """The edges of bins in the place of x: the caller's, or NumPy's for a number of bins of
    float16."""
    if range is not None:
        raise InputError("range", range, "None: bins are edges")
    if is_whole(bins):
        return placed(given, array, _half_edges(x, int(bins)))
    return _edges(given, bins, dtype_of(array))


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
    array = flat(given.take("x", x, ANY, dtypes=DTYPES, empty=True))
    dtype = dtype_of(array)
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
        return given.nothing(inputs[0], counts.shape, counts.dtype, device, out)
    return run(given, problem, inputs, {}, "ieee", strategy, device, out)


def _edges(given: Arguments[Any], bins: Any, dtype: Dtype) -> Taken:
    if isinstance(given.library, NumPy):
        bins = _held(bins, dtype)
    edges = given.take("bins", bins, "edges", dtypes=EDGES[dtype])
    if edges.shape[0] < 2:
        raise InputError("bins", f"{edges.shape[0]} edges", "a number, or at least two edges")
    if isinstance(edges, np.ndarray) and not (edges[1:] >= edges[:-1]).all():
        raise InputError("bins", "edges that fall, or are no numbers", "edges that rise")
    return edges


def _name_of(x: Any) -> str:
    """The dtype of a library's array by its name, without the library's; empty if it has none."""
    return str(getattr(x, "dtype", "")).rpartition(".")[2]


def _half_edges(x: Any, bins: int) -> AnyArray:
    """The edges that NumPy makes of the least and the greatest of float16: it computes them in
    float16, so that they are not the nearest ones."""
    low, high = _fitting(*_range(x, None), "float16")
    Histogram(1, bins, low, high, "float16")
    with np.errstate(over="ignore", invalid="ignore"):
        edges = np.linspace(np.float16(low), np.float16(high), bins + 1, dtype=np.float16)
    if not (edges[1:] >= edges[:-1]).all():
        expected = "fewer bins, or a range: float16 does not count as many edges"
        raise InputError("bins", bins, expected)
    return edges.astype(np.float32)


def _held(bins: Any, dtype: Dtype) -> Any:
    """Edges as an array of the first dtype that holds them and that edges may have."""
    try:
        edges = np.asarray(bins) if isinstance(bins, list | tuple) else bins
        if isinstance(edges, np.ndarray) and edges.dtype.name not in EDGES[dtype]:
            wider = (one for one in EDGES[dtype] if np.can_cast(edges.dtype, numpy_dtype(one)))
            return edges.astype(next(wider, edges.dtype))
    except ValueError:
        raise InputError("bins", repr(bins), "a number, or edges that rise") from None
    return edges


def _weights(given: Arguments[Any], weights: Any, x: Any) -> Taken:
    held = given.take("weights", weights, ANY, dtypes=("float32", "float64"), empty=True)
    if tuple(held.shape) != tuple(x.shape):
        raise InputError("weights", f"shape {tuple(held.shape)}", f"x's shape {tuple(x.shape)}")
    return flat(held)


def _range(x: Any, given: Sequence[float] | None) -> tuple[float, float]:
    """The ends of the bins, as NumPy has them but for bytes."""
    if given is not None:
        try:
            low, high = (float(end) for end in given)
        except (TypeError, ValueError):
            raise InputError("range", repr(given), "two numbers") from None
        return low, high
    name = _name_of(x)
    if name == "uint8":
        return 0.0, 256.0
    if name not in DTYPES or 0 in x.shape:
        # The checks of x say what is wrong with it, unless it is empty.
        return 0.0, 1.0
    try:
        return float(x.min()), float(x.max())
    except (AttributeError, TypeError, RuntimeError):
        # The library has no least of this dtype.
        return float(reduce(x, "min")), float(reduce(x, "max"))


def _fitting(low: float, high: float, dtype: Dtype) -> tuple[float, float]:
    """As numbers of the dtype; a range without width becomes one wide, as NumPy has it. Raises
    `InputError` where the dtype has no numbers so close to each other."""

    def held(*ends: float) -> tuple[float, float]:
        real = dtype.startswith(("float", "bfloat"))
        first, last = (rounded(end, dtype) for end in ends) if real else ends
        return first, last

    low, high = held(low, high)
    if low != high:
        return low, high
    wide = held(low - 0.5, high + 0.5)
    if wide[0] == wide[1]:
        expected = f"a range with a width: {dtype} has no number within 0.5 of this one"
        raise InputError("range", (low, high), expected)
    return wide


_histogram = remembered(Histogram)


@plain
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
    where either is.  An index outside of x is an error on the CPU; on a GPU, where the call would
    have to wait, its value is left out.  Sums and products of floating-point numbers may differ in
    their last bits from run to run on a GPU.

    Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., section 9.2.
    """
    given = Arguments(x)
    array = given.take("x", x, "places", dtypes=SCATTERED)
    wanted = given.take("index", index, "count", dtypes=("int32", "int64"))
    (places,), (count,), dtype = array.shape, wanted.shape, dtype_of(array)
    problem = _scatter(count, places, function, dtype, dtype_of(wanted))
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
