"""Tensor maps: how the bulk copy engine is told of an array (compute capability 9.0 and later).

Source: CUDA Driver API, "Tensor Map Object Management".
"""

from __future__ import annotations

import ctypes
from itertools import accumulate
from operator import mul

from rooftile.devices.cuda.driver import call
from rooftile.devices.gpu import TensorMap

_BYTES = 128
_ALIGNMENT = 64
_UNSIGNED = {1: 0, 2: 1, 4: 2}
"""CU_TENSOR_MAP_DATA_TYPE_UINT8, 16 and 32 by their bytes."""
_TF32 = 11
"""CU_TENSOR_MAP_DATA_TYPE_TFLOAT32."""
_NO_INTERLEAVE = _ZEROS_BEYOND = 0
_SWIZZLE_128B = _L2_256B = 3


class Descriptor:
    """An array's descriptor, which a kernel takes by value as a ``__grid_constant__``."""

    def __init__(self, layout: TensorMap) -> None:
        self._layout = layout
        self._memory = ctypes.create_string_buffer(_BYTES + _ALIGNMENT)
        start = ctypes.addressof(self._memory)
        self.address = -(-start // _ALIGNMENT) * _ALIGNMENT
        """The map's address in the host's memory."""
        self._of = 0

    def point_to(self, array: int) -> None:
        """Describe the array that begins at this address of the device."""
        if array == self._of:
            return
        here, there = ctypes.c_void_p(self.address), ctypes.c_void_p(array)
        if self._of:
            call("cuTensorMapReplaceAddress", here, there)
        else:
            self._encode(here, there)
        self._of = array

    def _encode(self, here: ctypes.c_void_p, array: ctypes.c_void_p) -> None:
        layout, rank = self._layout, len(self._layout.shape)
        # The engine counts axes from the innermost one.
        sizes = layout.shape[::-1]
        strides = [layout.element_bytes * count for count in accumulate(sizes[:-1], mul)]
        call(
            "cuTensorMapEncodeTiled",
            here,
            ctypes.c_int(_TF32 if layout.rounded else _UNSIGNED[layout.element_bytes]),
            ctypes.c_uint32(rank),
            array,
            (ctypes.c_uint64 * rank)(*sizes),
            (ctypes.c_uint64 * max(1, rank - 1))(*strides),
            (ctypes.c_uint32 * rank)(*layout.box[::-1]),
            (ctypes.c_uint32 * rank)(*[1] * rank),
            ctypes.c_int(_NO_INTERLEAVE),
            ctypes.c_int(_SWIZZLE_128B),
            ctypes.c_int(_L2_256B),
            ctypes.c_int(_ZEROS_BEYOND),
        )
