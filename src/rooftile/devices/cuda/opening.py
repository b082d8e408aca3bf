"""The NVIDIA GPUs of this machine; each is opened once."""

from __future__ import annotations

import ctypes

from rooftile.devices.cuda.contexts import kept_context
from rooftile.devices.cuda.device import CudaDevice
from rooftile.devices.cuda.driver import answer, call
from rooftile.devices.cuda.waking import waking
from rooftile.devices.first_use import once
from rooftile.errors import DeviceMissing, InputError


def find() -> list[int]:
    """The numbers of the NVIDIA GPUs that the driver shows.  Raises `DeviceMissing`."""
    try:
        call("cuInit", 0)
        count = answer("cuDeviceGetCount", ctypes.c_int)
    except (OSError, RuntimeError) as error:
        # There is no driver library, or it refuses.
        raise DeviceMissing(
            f"a working NVIDIA driver (libcuda.so.1): {error}", "NVIDIA's driver for the GPU"
        ) from None
    if not count:
        raise DeviceMissing(
            "an NVIDIA GPU: the driver shows none", "a GPU, or CUDA_VISIBLE_DEVICES"
        )
    return list(range(count))


def open_device(index: int = 0) -> CudaDevice:
    """The GPU of this number; the calling thread now works on it.

    Raises `DeviceMissing`, `InputError`.
    """
    device = lent_device(index)
    device.make_current()
    return device


def lent_device(index: int = 0) -> CudaDevice:
    """The GPU of this number; the calling thread keeps the one that it has.

    Raises `DeviceMissing`, `InputError`.
    """
    # Most calls ask, and a GPU that is open is found without a look at the thread's context.
    if (device := _opened.get(index)) is None:
        with kept_context():
            device = _opened[index] = _open(index)
    return device


_opened: dict[int, CudaDevice] = {}


@once
def _open(index: int) -> CudaDevice:
    waking(index).join()
    numbers = find()
    if index not in numbers:
        raise InputError("device", f"cuda:{index}", f"cuda:0 to cuda:{numbers[-1]}")
    try:
        return CudaDevice(index)
    except RuntimeError as error:
        # The GPU's memory is full, or another process has the GPU for itself.
        raise DeviceMissing(
            f"GPU cuda:{index}: it does not open ({error})", "nothing; free it, or name another"
        ) from None
