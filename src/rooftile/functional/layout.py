"""Elements in another order: transposition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rooftile.devices.cuda import CudaArray
from rooftile.errors import InputError, UnsupportedProblem
from rooftile.functional._call import remembered, run
from rooftile.ops.transpose import DTYPES, Transpose
from rooftile.runtime.arguments import ANY, Arguments, Array, Taken
from rooftile.runtime.choice import decide
from rooftile.runtime.execution import run_copied, run_in_place, run_on_host

_IN_PLACE = "in_place"
"""The strategy that takes one array for both."""


def transpose(
    x: Array,
    axes: Sequence[int] | None = None,
    *,
    strategy: str | None = None,
    device: str | None = None,
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
    if out is x:
        _in_place(given, x, axes, strategy, device)
        return x
    array = given.take("x", x, ANY, dtypes=DTYPES)
    problem = _problem(array, axes)
    return run(given, problem, [array], {}, "ieee", strategy, device, out)


def _in_place(
    given: Arguments[Any], x: Any, axes: Any, strategy: str | None, device: str | None
) -> None:
    """Transpose every matrix of x where it lies.  Raises `UnsupportedProblem` where they are not
    square, or by a strategy that needs a second array."""
    if strategy not in (None, _IN_PLACE):
        raise UnsupportedProblem(strategy, "out is x", f"strategy={_IN_PLACE!r}, or another out")
    # It makes sure that there is something to transpose; what it gives may be a copy.
    problem = _problem(given.take("x", x, ANY, dtypes=DTYPES), axes)
    place, (result,) = given.device(device), problem.output_arrays
    array = given.take_out(x, result, [])
    if len(problem.merged[0]) < 2:
        # The elements are in their places already.
        return
    choice = decide(problem, "ieee", place, _IN_PLACE)
    if isinstance(array, CudaArray):
        run_in_place(given.library, choice, {"x": array}, {}, {"y": array})
    elif place == "cpu":
        run_on_host(choice, [array], (), (array,))
    else:
        run_copied(choice, {"x": array, "y": array}, {})


def _problem(array: Taken, axes: Any) -> Transpose:
    """The problem.  Raises `InputError` for axes that are no permutation of x's."""
    shape = tuple(array.shape)
    rank = len(shape)
    if axes is None:
        axes = range(rank - 1, -1, -1)
    expected = f"None, or a permutation of 0 to {rank - 1}"
    if not isinstance(axes, Sequence) or not all(type(axis) is int for axis in axes):
        raise InputError("axes", repr(axes), expected)
    if sorted(axis % rank if -rank <= axis < rank else -1 for axis in axes) != [*range(rank)]:
        raise InputError("axes", tuple(axes), expected)
    dtype: Any = getattr(array.dtype, "name", array.dtype)
    return _transpose(shape, tuple(axis % rank for axis in axes), dtype)


_transpose = remembered(Transpose)
