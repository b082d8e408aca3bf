"""A strategy that is compiled for a problem on a device, with its parameters."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from rooftile._locks import lock
from rooftile.devices.device import Device, Memory
from rooftile.ops import AnyArray, Array, ErrorModel, Problem

if TYPE_CHECKING:
    from rooftile.devices.gpu import Resources

Config = Mapping[str, int]
"""A value for every tunable."""


class Bound(ABC):
    """A strategy on a device with its parameters, for up to the problem's batch."""

    def __init__(self, strategy: Any, problem: Problem, device: Device, config: Config):
        self.strategy, self.problem = strategy, problem
        self.device, self.config = device, config
        self._memory: tuple[Memory, ...] = ()
        self._turn = lock()

    @abstractmethod
    def launch(self, arrays: Sequence[Memory], batch: int | None = None) -> None:
        """Start it on the device's memory: inputs, then outputs, each as `held` says. ``batch``
        items are computed; None stands for all. May return before they are done."""

    @property
    def renewable(self) -> bool:
        """True if `renew` can give it other parameters."""
        return False

    def renew(self, parameters: Sequence[AnyArray]) -> None:
        """Take other parameters of the same shapes; no call runs meanwhile."""
        raise NotImplementedError(f"{self.strategy.name} is bound anew")

    def __call__(self, *arrays: AnyArray) -> None:
        """Compute on NumPy arrays, inputs and then outputs, of the problem's batch or fewer items.
        Copies to the device and back, and waits. Calls take turns."""
        inputs = len(self.problem.input_arrays)
        batch = self.problem.items_in(arrays)
        with self._turn, self.device.on():
            memory = self.memory()
            for array, place, to in zip(arrays[:inputs], self.held, memory, strict=False):
                self.load(array, place, to)
            self.launch(memory, batch)
            for array, place, source in zip(
                arrays[inputs:], self.held[inputs:], memory[inputs:], strict=True
            ):
                self.fetch(source, place, array)

    @cached_property
    def held(self) -> tuple[Array, ...]:
        """Inputs and outputs, as they are stored in the device's memory."""
        arrays: tuple[Array, ...] = (*self.problem.input_arrays, *self.problem.output_arrays)
        return arrays

    @property
    def errors(self) -> ErrorModel:
        """See `Strategy.errors`."""
        model: ErrorModel = self.strategy.errors
        return model

    def memory(self) -> tuple[Memory, ...]:
        """Memory of its own for a whole batch's inputs and outputs, allocated once."""
        if not self._memory:
            self._memory = tuple(self.device.empty(a.shape, a.numpy) for a in self.held)
        return self._memory

    def load(self, array: AnyArray, place: Array, memory: Memory) -> None:
        """Copy an array to the device, in the dtype and the order of axes that it has there."""
        if place.channels_last:
            array = np.ascontiguousarray(np.moveaxis(array, 1, -1))
        self.device.copy_in(array.astype(place.numpy, copy=False), memory)

    def fetch(self, memory: Memory, place: Array, array: AnyArray) -> None:
        """Copy an array from the device, from the dtype and the order of axes that it has there."""
        if array.dtype == place.numpy and not place.channels_last:
            return self.device.copy_out(memory, array)
        turned = np.moveaxis(array, 1, -1) if place.channels_last else array
        there = np.empty(turned.shape, place.numpy)
        self.device.copy_out(memory, there)
        turned[...] = there
        return None

    def resources(self) -> list[Resources]:
        """Resources of each of its launches; empty where no compiler tells."""
        return []
