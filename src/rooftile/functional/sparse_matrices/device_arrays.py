"""Arrays of a sparse matrix that lie in a device's memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rooftile.devices.cuda import CudaArray
from rooftile.devices.gpu import GpuDevice
from rooftile.devices.select import parse_device
from rooftile.ops.problem import AnyArray


@dataclass(frozen=True)
class DeviceArray:
    """An array in a device's memory."""

    memory: Any
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def nbytes(self) -> int:
        """Of all elements."""
        return int(np.prod(self.shape)) * self.dtype.itemsize

    def __len__(self) -> int:
        return self.shape[0]


class DeviceArrays(Mapping[str, AnyArray]):
    """A format's arrays in a device's memory, by name; NumPy's, once somebody asks for one."""

    def __init__(self, device: GpuDevice, place: str, held: Mapping[str, DeviceArray]) -> None:
        self.device, self.place, self.held = device, place, dict(held)
        self._copies: dict[str, AnyArray] = {}

    def __getitem__(self, name: str) -> AnyArray:
        if name not in self._copies:
            self._copies[name] = downloaded(self.device, self.held[name])
        return self._copies[name]

    def lent(self, number: int) -> tuple[CudaArray, ...] | None:
        """The arrays for kernels of the CUDA GPU of this number; None if they lie elsewhere."""
        if parse_device(self.place) != ("cuda", number):
            return None
        return tuple(
            CudaArray(
                one.memory, self.device.address(one.memory), one.shape, number, dtype=one.dtype.name
            )
            for one in self.held.values()
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self.held)

    def __len__(self) -> int:
        return len(self.held)

    def renamed(self, names: Sequence[str]) -> DeviceArrays:
        """The same arrays under other names, in their order."""
        held = dict(zip(names, self.held.values(), strict=True))
        return DeviceArrays(self.device, self.place, held)


def kept(arrays: Mapping[str, AnyArray]) -> Mapping[str, AnyArray | DeviceArray]:
    """Arrays where they are: their shapes and dtypes take no copy to the host."""
    return arrays.held if isinstance(arrays, DeviceArrays) else arrays


def downloaded(device: GpuDevice, array: DeviceArray) -> AnyArray:
    """NumPy's copy."""
    made = np.empty(array.shape, array.dtype)
    gpu: Any = device
    with gpu.on():
        gpu.copy_out(array.memory, made)
    return made
