"""Tensor maps: how the bulk copy engine is told of an array (compute capability 9.0 and later)."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from rooftile.devices.cuda.compile import cuda_core
from rooftile.devices.gpu import TensorMap


class _Memory:
    """An address with a shape, for those who read the CUDA Array Interface."""

    def __init__(self, address: int, layout: TensorMap) -> None:
        self.__cuda_array_interface__ = {
            "shape": layout.shape,
            "typestr": f"<u{layout.element_bytes}",
            "data": (address, False),
            "strides": None,
            "version": 3,
        }


@lru_cache(maxsize=256)
def tensor_map(address: int, layout: TensorMap) -> Any:
    """The array's descriptor, which a kernel takes by value as a ``__grid_constant__``."""
    from cuda.core.utils import StridedMemoryView

    names = cuda_core()._tensor_map
    # No stream (-1): nothing is read, so there is nothing to wait for.
    view = StridedMemoryView.from_cuda_array_interface(_Memory(address, layout), stream_ptr=-1)
    return view.as_tensor_map(
        layout.box,
        swizzle=names.TensorMapSwizzle.SWIZZLE_128B,
        l2_promotion=names.TensorMapL2Promotion.L2_256B,
    )
