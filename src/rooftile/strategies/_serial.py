"""Run a compiled kernel on the calling thread, beside work that is not Numba's."""

from __future__ import annotations

from typing import Any

import numpy as np

from rooftile.devices import cpu
from rooftile.ops import Float32

_NOTHING = np.zeros(1, np.float32)


def run(
    kernel: Any,
    x: Float32,
    out: Float32,
    sizes: tuple[int, ...],
    units: int,
    bias: Float32 = _NOTHING,
    scratch: Float32 = _NOTHING,
) -> None:
    """All units of a kernel (see `rooftile.devices.cpu.parallel`), without the GIL."""
    numbers = np.array(sizes, np.int64)
    arrays = (x, _NOTHING, bias, out, scratch, numbers)
    arguments = (number for array in arrays for number in (array.ctypes.data, array.size))
    cpu.driver(kernel).share(*arguments, 0, units)
