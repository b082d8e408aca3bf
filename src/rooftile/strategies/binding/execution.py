"""Launches for a number of items, and the memory that they work in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from rooftile.devices.gpu import GpuDevice, Launches
from rooftile.ops import AnyArray

_BOUNDARY = 256
"""Alignment of arrays in bytes, as of CUDA's own allocations."""
MOST_EXECUTIONS = 64
"""Numbers of items for which launches are kept."""


@dataclass(frozen=True)
class Workspace:
    """Arrays between inputs and outputs, and where each begins if one allocation holds them all."""

    sizes: Mapping[str, int]
    """Bytes of each by name."""
    offsets: tuple[int, ...]
    nbytes: int
    """Bytes of the one allocation."""

    @classmethod
    def of(cls, shared: Mapping[str, int], *parts: Mapping[str, int]) -> Workspace:
        """Arrays of these bytes.  The arrays of ``parts``, which run one after another, use the
        same memory in turns; ``shared`` ones have memory of their own."""
        offsets, start = _in_a_row(shared.values(), 0)
        end, sizes = start, dict(shared)
        for part in parts:
            more, last = _in_a_row(part.values(), start)
            offsets, end = offsets + more, max(end, last)
            sizes |= part
        return cls(sizes, tuple(offsets), end)

    def at(self, address: int) -> list[int]:
        """The arrays' addresses in an allocation that begins there."""
        return [address + offset for offset in self.offsets]


@dataclass(frozen=True)
class Execution:
    """Launches that start again and again, with what they are given in each start."""

    launches: Launches
    kept: tuple[Any, ...]
    """Buffers that every start reads: packed parameters."""
    workspace: Workspace
    zeros: Sequence[Any] = ()
    """Zeros for each parameter that comes with a call, where the call has None."""
    turns: Any = None
    """Calls that share constant memory run in these turns; None where they share none."""

    def start(
        self, arrays: Sequence[Any], workspace: Sequence[Any], parameters: Sequence[Any] = ()
    ) -> None:
        """Start on the present stream: inputs and outputs in device memory, memory for each array
        of the workspace, and the parameters that come with the call, or None for zeros."""
        pairs = zip(parameters, self.zeros, strict=True)
        given = [zeros if one is None else one for one, zeros in pairs]
        turn: AbstractContextManager[Any] = self.turns or nullcontext()
        with turn:
            self.launches.start([*arrays, *given, *self.kept, *workspace])

    def run(
        self,
        device: GpuDevice,
        inputs: Sequence[AnyArray],
        parameters: Sequence[AnyArray | None],
        outputs: Sequence[AnyArray],
    ) -> None:
        """Copy NumPy arrays to the device, compute there, and copy the outputs back; the device is
        the thread's.  Raises `OutOfMemory`."""
        there = [device.upload(array) for array in inputs]
        made = [device.empty(array.shape, array.dtype) for array in outputs]
        given = [
            None if array is None else device.upload(np.ascontiguousarray(array))
            for array in parameters
        ]
        workspace = [device.allocate(nbytes) for nbytes in self.workspace.sizes.values()]
        self.start([*there, *made], workspace, given)
        for memory, array in zip(made, outputs, strict=True):
            device.copy_out(memory, array)


def _in_a_row(sizes: Iterable[int], start: int) -> tuple[list[int], int]:
    """Offsets of consecutive arrays, and the end of the last."""
    offsets = []
    for nbytes in sizes:
        offsets.append(start)
        start += -(-nbytes // _BOUNDARY) * _BOUNDARY
    return offsets, start
