"""Images and scores of other dtypes than float32 on a GPU, for layers that read and write that."""

from __future__ import annotations

from typing import Any

from rooftile.devices.gpu import GpuDevice
from rooftile.devices.launches import Call
from rooftile.nn.data.pixels import Pixels
from rooftile.ops.patterns.convert import Convert
from rooftile.ops.patterns.standardise import Standardise
from rooftile.runtime.calls.single import single


class Numbers:
    """The conversions of one dtype: uint8, float16 or bfloat16.

    Each makes a launch on buffers, or on names of buffers; ``count`` are elements.
    """

    def __init__(self, gpu: GpuDevice, dtype: Any, plane: int, pixels: Pixels | None) -> None:
        """``plane``: pixels of a channel; ``pixels`` is needed for uint8.  Raises
        `OutOfMemory`."""
        values = (pixels or Pixels()).numbers()
        self._gpu, self._dtype, self._sizes = gpu, dtype, (plane, len(values))
        self._values = gpu.upload(values)

    def read(self, images: Any, x: Any, count: int) -> Call:
        """float32 numbers of pixels, or of 16-bit numbers."""
        if self._dtype == "uint8":
            return single(self._gpu, Standardise(count, *self._sizes), images, self._values, x)
        return single(self._gpu, Convert(count, self._dtype, "float32"), images, x)

    def write(self, y: Any, scores: Any, count: int) -> Call:
        """Round float32 scores to 16 bits."""
        return single(self._gpu, Convert(count, "float32", self._dtype), y, scores)

    def move(self, given: Any, to: Any, nbytes: int) -> Call:
        """Copy bytes of any alignment."""
        return single(self._gpu, Convert(nbytes, "uint8", "uint8"), given, to)
