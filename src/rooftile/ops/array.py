"""An array of a problem: name, shape, dtype and role."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

Float32 = NDArray[np.float32]
Float64 = NDArray[np.float64]
AnyArray = NDArray[Any]

Dtype = Literal[
    "float32", "float16", "bfloat16", "float64", "int8", "int16", "int32", "int64",
    "uint8", "uint16", "uint32", "uint64", "bool",
]  # fmt: skip
DTYPES: tuple[Dtype, ...] = get_args(Dtype)
"""Every dtype that an array may have."""
Computed = Literal["float32", "float64"]
"""The dtype that a problem is computed in, where there is a choice."""
Layout = Literal["row_major", "channels_last"]
"""The order of an array's axes in memory: as in its shape, or the second axis last."""
Role = Literal["input", "parameter", "output"]
"""Parameters may be packed once and used by many calls; inputs are new in each."""


@dataclass(frozen=True)
class Array:
    """One array of a problem, without gaps in memory."""

    name: str
    shape: tuple[int, ...]
    dtype: Dtype = "float32"
    role: Role = "input"
    batched: bool = False
    """True if its first axis is the batch."""
    operand: bool = True
    """True if it is multiplied: precisions that round operands round it, but no addend."""
    layout: Layout = "row_major"
    places: bool = False
    """True if it holds the argmax of each window of a max-pool."""

    @property
    def channels_last(self) -> bool:
        """True if the second of its axes is the last one in memory."""
        return self.layout == "channels_last"

    @property
    def size(self) -> int:
        """Elements."""
        return math.prod(self.shape)

    @property
    def numpy(self) -> np.dtype[Any]:
        """The dtype as NumPy has it."""
        return numpy_dtype(self.dtype)

    @property
    def itemsize(self) -> int:
        return self.numpy.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes."""
        return self.size * self.itemsize

    @property
    def item_size(self) -> int:
        """Elements of one item of the batch; all of them where there is no batch."""
        return math.prod(self.shape[1:]) if self.batched else self.size


@cache
def numpy_dtype(name: str) -> np.dtype[Any]:
    """A dtype of ours as NumPy's."""
    if name != "bfloat16":
        return np.dtype(name)
    import ml_dtypes

    found: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
    return found
