"""A data set on a device: all of it, or streamed, the next part during the steps on this one.

A streamed data set is a ring of two slots.  A slot holds the items of some steps in the epoch's
order, so that the kernel that gathers a batch finds them where `Source.begin_epoch` says, and knows
nothing of it.  While the steps of one slot are computed, the host gathers the items of the next
steps and copies them into the other one.
"""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rooftile.devices.gpu import GpuDevice
from rooftile.errors import InputError
from rooftile.nn.training.gpu.copies import copies_of, host_array

_SLOTS = 2
_MOST_SLOT_BYTES = 2**26
"""Bytes of a slot: far fewer hide the start of a copy."""
_PART_BYTES = 256
"""A slot begins at a multiple of these, as `GpuDevice.part` asks."""


class Source(Protocol):
    """A data set's memory on the device."""

    data: Any
    """Items, uint8 or float32."""
    targets: Any
    """Their labels, int32, or wanted outputs, float32."""

    def begin_epoch(self, order: NDArray[Any], first: int) -> NDArray[np.int32]:
        """The indices in `data` of an epoch's items, from step ``first`` on."""

    def before(self, step: int) -> None:
        """The host is about to start a step; it starts each from ``first`` on, in order."""


class Whole:
    """All of it stays on the device."""

    def __init__(self, data: NDArray[Any], targets: NDArray[Any], gpu: GpuDevice) -> None:
        """Raises `OutOfMemory`."""
        self.data = gpu.upload(np.ascontiguousarray(data, _data_dtype(data)))
        self.targets = gpu.upload(np.ascontiguousarray(targets, _target_dtype(targets)))

    def begin_epoch(self, order: NDArray[Any], first: int) -> NDArray[np.int32]:
        """See `Source.begin_epoch`."""
        return order.astype(np.int32)

    def before(self, step: int) -> None:
        """See `Source.before`: everything is there."""


class StreamedSource:
    """A part of it at a time.  ``data`` may be mapped from a file: it is read as steps need it."""

    def __init__(
        self, data: NDArray[Any], targets: NDArray[Any], batch: int, steps: int, gpu: GpuDevice
    ) -> None:
        """A slot holds the items of ``steps`` steps. Raises `OutOfMemory`."""
        self._gpu, self._steps, self._items = gpu, steps, steps * batch
        self._copies = copies_of(gpu)
        arrays = (data, _data_dtype(data)), (targets, _target_dtype(targets))
        aligned = [_PART_BYTES // math.gcd(_PART_BYTES, _item_bytes(*array)) for array in arrays]
        self._apart = -(-self._items // math.lcm(*aligned)) * math.lcm(*aligned)
        """Items from the beginning of a slot to that of the next."""
        self._rings = [
            _Ring(array, dtype, self._items, self._apart, gpu) for array, dtype in arrays
        ]
        self.data, self.targets = (ring.memory for ring in self._rings)
        self._arrived: list[Any] = [None] * _SLOTS
        """Marks behind the copies to each slot."""
        self._left: list[Any] = [None] * _SLOTS
        """Marks behind the steps that have read it."""
        self._order = np.empty(0, np.int64)
        self._next = 0
        """The first part of the epoch that is on no way to the device."""

    def begin_epoch(self, order: NDArray[Any], first: int) -> NDArray[np.int32]:
        """See `Source.begin_epoch`."""
        if len(self._order):
            # Steps of the epoch before may still read both slots.
            self._left = [self._gpu.mark()] * _SLOTS
        self._order, self._next = order, first // self._steps
        part, place = np.divmod(np.arange(len(order)), self._items)
        return (part % _SLOTS * self._apart + place).astype(np.int32)

    def before(self, step: int) -> None:
        """See `Source.before`.  With a part's first step the copy of the next one begins."""
        part = step // self._steps
        if part + 1 < self._next:
            return
        if part == self._next:
            self._fill()
        self._gpu.after(self._arrived[part % _SLOTS])
        # All steps that read the other slot were started before this one.
        self._left[(part + 1) % _SLOTS] = self._gpu.mark()
        self._fill()

    def _fill(self) -> None:
        """Gather the next part's items, if there are any, and start to copy them to their slot."""
        slot, first = self._next % _SLOTS, self._next * self._items
        chosen = self._order[first : first + self._items]
        self._next += 1
        if len(chosen) == 0:
            return
        if self._arrived[slot] is not None:
            # The copy that was made last from the memory that is written now.
            self._arrived[slot].sync()
        if self._left[slot] is not None:
            self._copies.after(self._left[slot])
        for ring in self._rings:
            self._copies.copy_in(*ring.staged(slot, chosen))
        self._arrived[slot] = self._copies.mark()


class _Ring:
    """One array's slots, and the host's memory that they are copied from."""

    def __init__(
        self, given: NDArray[Any], dtype: type[Any], items: int, apart: int, gpu: GpuDevice
    ) -> None:
        """Slots of ``items`` items, ``apart`` items from each other."""
        self._given, each = given, _item_bytes(given, dtype)
        self.memory = gpu.allocate(_SLOTS * apart * each)
        self._slots, self._staged = [], []
        for slot in range(_SLOTS):
            shape = (items, *given.shape[1:])
            self._slots.append(gpu.part(self.memory, slot * apart * each, apart * each))
            self._staged.append(host_array(gpu, shape, dtype))

    def staged(self, slot: int, chosen: NDArray[Any]) -> tuple[NDArray[Any], Any]:
        """These items in the host's memory for a slot, and the slot."""
        staged = self._staged[slot][: len(chosen)]
        staged[...] = self._given[chosen]
        return staged, self._slots[slot]


def source_of(
    data: NDArray[Any],
    targets: NDArray[Any],
    batch: int,
    gpu: GpuDevice,
    data_memory: int | None = None,
) -> Source:
    """A data set that takes at most ``data_memory`` bytes of the device, None: half of its memory.

    Raises `InputError` for less than two batches take, `OutOfMemory`.
    """
    each = _item_bytes(data, _data_dtype(data)) + _item_bytes(targets, _target_dtype(targets))
    most = gpu.description.memory_bytes // 2 if data_memory is None else data_memory
    if len(data) * each <= most:
        return Whole(data, targets, gpu)
    steps = min(most // _SLOTS, _MOST_SLOT_BYTES) // (batch * each)
    if data_memory is not None and most < _SLOTS * batch * each:
        expected = f"at least the {_SLOTS * batch * each} bytes of two batches"
        raise InputError("data_memory", data_memory, expected)
    return StreamedSource(data, targets, batch, max(1, steps), gpu)


def _data_dtype(data: NDArray[Any]) -> type[Any]:
    return np.uint8 if data.dtype == np.uint8 else np.float32


def _target_dtype(targets: NDArray[Any]) -> type[Any]:
    return np.float32 if targets.ndim == 2 else np.int32


def _item_bytes(array: NDArray[Any], dtype: type[Any]) -> int:
    return math.prod(array.shape[1:]) * np.dtype(dtype).itemsize
