"""Which NVIDIA GPUs there are; each is opened once."""

from __future__ import annotations

from typing import Any

from rooftile.devices.cuda.compile import cuda_core
from rooftile.devices.cuda.device import CudaDevice
from rooftile.devices.cuda.driver import kept_context
from rooftile.devices.cuda.waking import waking
from rooftile.errors import DeviceMissing, InputError


def find() -> list[Any]:
    """Every NVIDIA GPU that the driver shows.  Raises `DeviceMissing`."""
    core = cuda_core()
    try:
        devices = list(core.Device.get_all_devices())
    except Exception as error:
        # No driver library, or one that refuses: both reach us as classes private to cuda-core.
        raise DeviceMissing(
            f"a working NVIDIA driver (libcuda.so.1): {error}", "NVIDIA's driver for the GPU"
        ) from None
    if not devices:
        raise DeviceMissing(
            "an NVIDIA GPU: the driver shows none", "a GPU, or CUDA_VISIBLE_DEVICES"
        )
    return devices


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
    if (device := _opened.get(index)) is None:
        with kept_context():
            device = _opened.setdefault(index, _open(index))
    return device


_opened: dict[int, CudaDevice] = {}


def _open(index: int) -> CudaDevice:
    # The driver starts while cuda-core is imported.
    awake = waking(index)
    devices = find()
    awake.join()
    if not 0 <= index < len(devices):
        raise InputError("device", f"cuda:{index}", f"cuda:0 to cuda:{len(devices) - 1}")
    try:
        return CudaDevice(devices[index], index)
    except Exception as error:
        # The GPU's memory is full, or another process has the GPU for itself; the classes of these
        # errors are private to cuda-core.
        raise DeviceMissing(
            f"GPU cuda:{index}: it does not open ({error})", "nothing; free it, or name another"
        ) from None
