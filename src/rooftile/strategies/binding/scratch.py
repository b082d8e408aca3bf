"""Workspace that lasts as long as its owner."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rooftile.devices.gpu import GpuDevice


class Scratch:
    """Arrays on a device by name.  Each grows to the most bytes that were ever asked of it."""

    def __init__(self, device: GpuDevice) -> None:
        self._device = device
        self._held: dict[str, tuple[int, Any]] = {}
        self._outgrown: list[Any] = []

    def of(self, sizes: Mapping[str, int]) -> list[Any]:
        """Arrays of at least these bytes, in this order. Raises `OutOfMemory`."""
        return [self._array(name, nbytes) for name, nbytes in sizes.items()]

    def _array(self, name: str, nbytes: int) -> Any:
        held, memory = self._held.get(name, (-1, None))
        if held < nbytes:
            # Graphs may use what lay there before.
            self._outgrown.append(memory)
            memory = self._device.allocate(nbytes)
            self._held[name] = nbytes, memory
        return memory
