"""Parameters and what belongs to each of them, in one array of the device's memory."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooftile.devices.gpu import GpuDevice
from rooftile.nn.definition import is_bias

_BOUNDARY = 64
"""float32 on whose multiples each begins: 256 bytes."""


class ParameterLayout:
    """Offsets of parameters: weights first, then biases, so that one bound separates them.

    Gaps are zeros.
    """

    def __init__(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        self.shapes, self._first, end = dict(shapes), dict[str, int](), 0
        self.decayed = 0
        """float32 elements of the weights, which weight decay concerns."""
        for key in sorted(shapes, key=is_bias):
            self._first[key] = end
            end += -(-math.prod(shapes[key]) // _BOUNDARY) * _BOUNDARY
            if not is_bias(key):
                self.decayed = end
        self.count = end
        """float32 elements of the whole."""

    def part(self, gpu: GpuDevice, memory: Any, key: str) -> Any:
        """One parameter's memory."""
        return gpu.part(memory, 4 * self._first[key], 4 * math.prod(self.shapes[key]))

    def packed(self, arrays: Mapping[str, NDArray[Any]]) -> NDArray[np.float32]:
        """All arrays in one, with zeros between them."""
        whole = np.zeros(self.count, np.float32)
        for key, array in arrays.items():
            first = self._first[key]
            whole[first : first + array.size] = array.ravel()
        return whole

    def unpack(self, whole: NDArray[np.float32], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Copy every array out of one."""
        for key, array in arrays.items():
            first = self._first[key]
            array[...] = whole[first : first + array.size].reshape(array.shape)
