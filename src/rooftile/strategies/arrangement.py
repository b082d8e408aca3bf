"""Parameters on the device, brought there into the order that a strategy's kernels read.

A strategy says what that order is by `GpuStrategy.packed`, in NumPy.  Given the parameters' own
numbers, the same function says where each element comes from; a kernel then moves the elements, in
the order of the stream.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooftile.devices.gpu import Launch
from rooftile.errors import UnsupportedProblem
from rooftile.ops import AnyArray, Array

_THREADS = 256
_MOST_PLACES = 2**31 - 1

Allocate = Callable[[int], Any]
"""So many float32 of device memory, which the caller holds until its work is done."""


@dataclass(frozen=True)
class Places:
    """For an array that kernels read, the element of one parameter behind each, -1 for zero."""

    parameter: str
    places: NDArray[np.int32] | None
    """None where the array is the parameter as it lies."""


class Arrangement:
    """How a strategy's packed arrays arise from parameters that lie on the device."""

    def __init__(self, strategy: Any, problem: Any, device: Any, config: Any) -> None:
        """Raises `UnsupportedProblem` for more parameters than an index reaches."""
        found = places_of(strategy, problem, config)
        self._parameters = {name: order.parameter for name, order in found.items()}
        moved = {name: o.places for name, o in found.items() if o.places is not None}
        self._counts = {name: places.size for name, places in moved.items()}
        self._places = {name: device.upload(places) for name, places in moved.items()}
        self._program = device.compile(_text(), {}) if moved else None

    def bring(self, parameters: Mapping[str, Any], allocate: Allocate) -> dict[str, Any]:
        """The packed arrays by name, for parameters in device memory in the problem's shapes."""
        return {
            name: self._moved(name, parameters[parameter], allocate)
            for name, parameter in self._parameters.items()
        }

    def _moved(self, name: str, parameter: Any, allocate: Allocate) -> Any:
        if name not in self._places:
            return parameter
        count = self._counts[name]
        packed = allocate(count)
        launch = Launch("rearrange", (-(-count // _THREADS), 1, 1), (_THREADS, 1, 1))
        assert self._program is not None
        self._program.launch(launch, parameter, self._places[name], packed, np.int32(count))
        return packed


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


def _text() -> str:
    return (Path(__file__).parent / "common" / "rearrange.cu").read_text(encoding="utf-8")
