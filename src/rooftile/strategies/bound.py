"""GPU strategies bound to parameters that stay on the device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rooftile.devices.gpu import GpuDevice, Resources
from rooftile.ops import AnyArray
from rooftile.strategies.base import Bound
from rooftile.strategies.compiled import Compiled
from rooftile.strategies.packing import Packed


class GpuBound(Bound):
    """A strategy on a device with its parameters and its workspace."""

    device: GpuDevice

    def __init__(self, compiled: Compiled, parameters: Sequence[AnyArray]) -> None:
        super().__init__(compiled.strategy, compiled.problem, compiled.device, compiled.config)
        self._compiled, device = compiled, compiled.device
        self._packed = Packed(compiled, lambda count: device.allocate(4 * count))
        self._packed.take([device.upload(np.ascontiguousarray(array)) for array in parameters])
        # Those of fewer items are parts of these.
        counts = self._packed.workspace(compiled.problem.batch_size)
        self._workspace = [device.allocate(4 * count) for count in counts]

    def launch(self, arrays: Sequence[Any], batch: int | None = None) -> None:
        """See `Bound.launch`: returns before they are done."""
        self._packed.start(arrays, batch, self._workspace)

    def resources(self) -> list[Resources]:
        """See `Bound.resources`."""
        return self._compiled.resources()
