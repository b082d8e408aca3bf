"""Elements in another order: transposition, a choice of columns, rotation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rooftile.devices.cuda import CudaArray
from rooftile.devices.select import DeviceName
from rooftile.errors import InputError, UnsupportedProblem
from rooftile.functional._call import remembered, run
from rooftile.ops.patterns.permute_columns import PermuteColumns
from rooftile.ops.patterns.rotate import Rotate
from rooftile.ops.patterns.transpose import Transpose
from rooftile.ops.problem import DTYPES
from rooftile.runtime.arguments import ANY, Arguments, Array, dtype_of, is_empty
from rooftile.runtime.calls.fast_path import repeated
from rooftile.runtime.calls.host import compute
from rooftile.runtime.calls.plain import plain
from rooftile.runtime.selection.choice import decide

_IN_PLACE = "in_place"
"""The strategy that takes one array for both."""


@repeated("x")
def transpose(
    x: Array,
    axes: Sequence[int] | None = None,
    *,
    strategy: str | None = None,
    device: DeviceName | None = None,
    out: Array | None = None,
) -> Array:
    """x with its axes in the order of ``axes``, a contiguous array; None reverses them.

    ``axes`` is a permutation as NumPy's `transpose` takes it.  Those that transpose matrices, or
    each of a batch of them, are fast; any other of up to four axes is done by ``naive`` on GPUs
    and ``threads`` on the CPU, where axes that stay neighbours count as one.  x is float32,
    float16, bfloat16, float64, uint8, int32, int64 or bool; its elements are moved as they are.

    ``out`` may be x itself where matrices are square: then they are transposed in place.

    Source: Ruetsch, Micikevicius, "Optimizing Matrix Transpose in CUDA" (NVIDIA, 2009).
    """
    given = Arguments(x)
    array = given.take("x", x, ANY, dtypes=DTYPES, empty=True)
    shape, order = tuple(array.shape), _axes(len(array.shape), axes)
    if is_empty(array):
        moved = tuple(shape[axis] for axis in order)
        return given.nothing(array, moved, dtype_of(array), device, out)
    problem = _transpose(shape, order, dtype_of(array))
    if out is x:
        # Of the axes longer than one at most one moves: every element is in its place already.
        _in_place(given, x, problem, len(problem.merged[0]) < 2, strategy, device)
        return x
    return run(given, problem, [array], {}, "ieee", strategy, device, out)


@plain
def permute_columns(
    x: Array,
    index: Array,
    *,
    strategy: str | None = None,
    device: DeviceName | None = None,
    out: Array | None = None,
) -> Array:
    """``y[i, j] = x[i, index[j]]``: the columns of x in another order, or any choice of them.

    x is [rows, columns] of a dtype that `transpose` takes, ``index`` int32[width]. Its elements are
    0 to columns - 1: of arrays in the CPU's memory others are an error. On a GPU, where the call
    would have to wait, the nearest column stands for them.
    """
    given = Arguments(x)
    array = given.take("x", x, "rows, columns", dtypes=DTYPES)
    wanted = given.take("index", index, "width", dtypes=("int32",))
    rows, columns = array.shape
    if not isinstance(wanted, CudaArray) and not 0 <= wanted.min() <= wanted.max() < columns:
        found = f"elements of {wanted.min()} to {wanted.max()}"
        raise InputError("index", found, f"0 to {columns - 1}, the columns of x")
    problem = _permute_columns(rows, columns, wanted.shape[0], dtype_of(array))
    return run(given, problem, [array, wanted], {}, "ieee", strategy, device, out)


@repeated("x")
def rotate(
    x: Array,
    shift: int = 1,
    *,
    strategy: str | None = None,
    device: DeviceName | None = None,
    out: Array | None = None,
) -> Array:
    """Each row of x moved on by ``shift`` places, as NumPy's `roll` along the last axis.

    What leaves a row at its end enters it at its front; a shift below 0 moves the other way.  x has
    any shape with an axis, and a dtype that `transpose` takes.  ``out`` may be x itself; on a GPU,
    of rows of up to 8192 elements.
    """
    given = Arguments(x)
    array = given.take("x", x, ANY, dtypes=DTYPES, empty=True)
    if type(shift) is not int:
        raise InputError("shift", repr(shift), "an integer")
    shape = tuple(array.shape)
    if is_empty(array):
        return given.nothing(array, shape, dtype_of(array), device, out)
    problem = _rotate(shape, shift % shape[-1] if shape else shift, dtype_of(array))
    if out is x:
        _in_place(given, x, problem, problem.places == 0, strategy, device)
        return x
    return run(given, problem, [array], {}, "ieee", strategy, device, out)


def _in_place(
    given: Arguments[Any],
    x: Any,
    problem: Transpose | Rotate,
    done: bool,
    strategy: str | None,
    device: DeviceName | None,
) -> None:
    """Compute in x's memory, unless that is ``done`` already. Raises `UnsupportedProblem` where
    nothing computes the problem in place, or for a strategy that needs a second array."""
    if strategy not in (None, _IN_PLACE):
        raise UnsupportedProblem(strategy, "out is x", f"strategy={_IN_PLACE!r}, or another out")
    place, (result,) = given.device(device), problem.output_arrays
    array = given.take_out(x, result, [])
    if done:
        return
    # Calls with another out are of other strategies.
    given.kept = False
    compute(given, decide(problem, "ieee", place, _IN_PLACE), (array,), (), (array,))


def _axes(rank: int, axes: Any) -> tuple[int, ...]:
    """Whole and from 0 on.  Raises `InputError` for axes that are no permutation of x's."""
    if axes is None:
        axes = range(rank - 1, -1, -1)
    expected = f"None, or a permutation of 0 to {rank - 1}"
    if not isinstance(axes, Sequence) or not all(type(axis) is int for axis in axes):
        raise InputError("axes", repr(axes), expected)
    if sorted(axis % rank if -rank <= axis < rank else -1 for axis in axes) != [*range(rank)]:
        raise InputError("axes", tuple(axes), expected)
    return tuple(axis % rank for axis in axes)


_transpose = remembered(Transpose)
_permute_columns, _rotate = remembered(PermuteColumns), remembered(Rotate)
