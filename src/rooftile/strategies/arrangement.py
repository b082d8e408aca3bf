"""Where each element of the arrays comes from that a strategy's kernels read for its parameters.

A strategy says their order by `GpuStrategy.packed`, in NumPy.  Given the parameters' own numbers,
the same function says where each element comes from; on a device a kernel then moves them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooftile.errors import UnsupportedProblem
from rooftile.ops import AnyArray, Array

_MOST_PLACES = 2**31 - 1


@dataclass(frozen=True)
class Places:
    """For an array that kernels read, the element of one parameter behind each, -1 for zero."""

    parameter: str
    places: NDArray[np.int32] | None
    """None where the array is the parameter as it lies."""


def places_of(strategy: Any, problem: Any, config: Any) -> dict[str, Places]:
    """For each packed array where its elements come from, found by packing numbers.

    Raises `UnsupportedProblem` for too many, and `ValueError` for an array that mixes parameters.
    """
    arrays: Sequence[Array] = problem.parameter_arrays
    # Most strategies pass parameters on, which takes no numbers to see.
    blank = {a.name: np.broadcast_to(np.int32(0), a.shape) for a in arrays}
    passed = strategy.packed(problem, blank, config)
    if all(values is blank.get(name) for name, values in passed.items()):
        return {name: Places(name, None) for name in passed}
    count = sum(array.size for array in arrays)
    if count > _MOST_PLACES:
        raise UnsupportedProblem(strategy.name, f"{count} weights: indices are 32-bit")
    first, numbers = {}, {}
    start = 1  # Zero is left for what is filled in.
    for array in arrays:
        own: Any = np.arange(start, start + array.size, dtype=np.int32)
        numbers[array.name], first[array.name] = own.reshape(array.shape), start
        start += array.size
    packed = strategy.packed(problem, numbers, config)
    return {name: _places(name, values, arrays, first) for name, values in packed.items()}


def _places(
    name: str, values: AnyArray, parameters: Sequence[Array], first: Mapping[str, int]
) -> Places:
    flat = values.ravel()
    used = flat[flat > 0]
    for array in parameters:
        start = first[array.name]
        if used.size == 0 or (used.min() >= start and used.max() < start + array.size):
            places = np.where(flat > 0, flat - start, -1).astype(np.int32, copy=False)
            same = np.array_equal(places, np.arange(array.size, dtype=np.int32))
            return Places(array.name, None if same else places)
    raise ValueError(f"{name} is packed from several parameters")
