"""GPU strategies bound to parameters that stay on the device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rooftile.devices.gpu import GpuDevice, Resources
from rooftile.devices.launches import Call
from rooftile.ops import AnyArray
from rooftile.strategies.base import Bound
from rooftile.strategies.compiled import Compiled
from rooftile.strategies.packing import Packed
from rooftile.strategies.room import Room


class GpuBound(Bound):
    """A strategy on a device with its parameters and its workspace."""

    device: GpuDevice

    def __init__(self, compiled: Compiled, parameters: Sequence[AnyArray]) -> None:
        super().__init__(compiled.strategy, compiled.problem, compiled.device, compiled.config)
        self._compiled, device = compiled, compiled.device
        self._packed = Packed(compiled, lambda count: device.allocate(4 * count))
        self._packed.take([device.upload(np.ascontiguousarray(array)) for array in parameters])
        self._room = Room(device)
        self._workspaces: dict[int | None, list[Any]] = {}

    def launch(self, arrays: Sequence[Any], batch: int | None = None) -> None:
        """See `Bound.launch`: returns before they are done."""
        held = self._workspaces.get(batch)
        if held is None:
            held = self._workspaces[batch] = self._room.of(self._temporaries(batch))
        self._packed.start(arrays, batch, held)

    def temporaries(self, batch: int) -> dict[str, int]:
        """Bytes of each array that a launch for so many items writes before it reads it."""
        return self._temporaries(batch)

    def _temporaries(self, batch: int | None) -> dict[str, int]:
        return {name: 4 * count for name, count in self._packed.temporaries(batch).items()}

    def calls(
        self, batch: int, ends: Sequence[str], temporaries: Mapping[str, str], prefix: str
    ) -> tuple[list[Call], dict[str, Any]]:
        """What `launch` starts, and the memory that stays by names with this prefix.

        ``ends`` are names for inputs and outputs, and ``temporaries`` for those.
        """
        names = dict(zip((array.name for array in self.held), ends, strict=True))
        return self._packed.calls(batch, {**names, **temporaries}, prefix)

    def resources(self) -> list[Resources]:
        """See `Bound.resources`."""
        return self._compiled.resources()
