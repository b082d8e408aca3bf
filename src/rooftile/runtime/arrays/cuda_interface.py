"""Arrays of GPUs that other libraries hold."""

from __future__ import annotations

from typing import Any

from rooftile.devices.cuda import CudaArray, CudaDevice
from rooftile.devices.cuda.driver import LEGACY_STREAM
from rooftile.devices.cuda.exchange import gpu_of_interface, of_interface
from rooftile.errors import InputError
from rooftile.runtime.arrays.base import FLOAT32, Library


class CudaInterface(Library):
    """Arrays of GPUs that other libraries hold, by ``__cuda_array_interface__``.

    The work goes to the stream that x names, else to CUDA's default stream.
    """

    title = "an array with __cuda_array_interface__"

    def transposed(self, name: str, array: Any) -> Any:
        found = f"{self.title}, which rooftile cannot transpose itself"
        raise InputError(name, found, "one that is stored transposed, and says so")

    def gpu(self, name: str, array: Any) -> int | None:
        return gpu_of_interface(array)

    def on_gpu(
        self, name: str, array: Any, gpu: int, dtypes: tuple[str, ...] = FLOAT32
    ) -> CudaArray:
        return of_interface(name, array, dtypes)

    def stream(self, x: CudaArray) -> int:
        return x.stream or LEGACY_STREAM

    def result(
        self,
        shape: tuple[int, ...],
        device: CudaDevice,
        dtype: str = "float32",
        channels_last: bool = False,
    ) -> CudaArray:
        raise InputError("out", None, "an array of x's kind, which rooftile cannot make itself")
