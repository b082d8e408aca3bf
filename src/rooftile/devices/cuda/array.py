"""An array in a GPU's memory, of any library.

Every call asks whether it was given one, on a CPU too: this module loads nothing of CUDA.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

ALIGNMENT = 16
"""Bytes: the widest load of a kernel."""


@dataclass(slots=True)
class CudaArray:
    """An array in a GPU's memory; ``owner`` keeps it there.

    It is never changed; it is not frozen only because every call makes several, and to make a
    frozen one takes four times as long.
    """

    owner: Any
    address: int
    shape: tuple[int, ...]
    device: int
    contiguous: bool = True
    writeable: bool = True
    stream: int | None = None
    """The stream that its maker names; None where it names none."""
    dtype: str = "float32"
    channels_last: bool = False
    """True if it is contiguous with the second of four axes last in memory."""

    @property
    def plain(self) -> bool:
        """True if it is row-major float32."""
        return self.dtype == "float32" and not self.channels_last

    @property
    def nbytes(self) -> int:
        """Bytes, where it has no gaps."""
        return math.prod(self.shape) * item_bytes(self.dtype)

    @property
    def ready(self) -> bool:
        """True if kernels may use it without a copy: without gaps, and aligned."""
        return (self.contiguous or self.channels_last) and self.address % ALIGNMENT == 0

    def overlaps(self, other: CudaArray) -> bool:
        """True if two contiguous arrays share memory."""
        mine, its = (a.address + a.nbytes for a in (self, other))
        return self.address < its and other.address < mine


def item_bytes(dtype: str) -> int:
    """Bytes of an element."""
    return 2 if dtype == "bfloat16" else np.dtype(dtype).itemsize
