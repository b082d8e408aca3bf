"""Data, parameters and the optimiser's memory, which stay on the device for a whole run."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rooftile.devices.gpu import GpuDevice
from rooftile.nn.network import Network
from rooftile.nn.training.gpu.batches import Batches
from rooftile.nn.training.gpu.copies import copies_of, host_array
from rooftile.nn.training.gpu.launches import BoundLaunches
from rooftile.nn.training.gpu.memory import ParameterLayout
from rooftile.nn.training.optimisers import LOSS_SCALE
from rooftile.nn.training.options import TrainingOptions
from rooftile.ops import Precision
from rooftile.ops.gradients.optimiser_step import MEMORIES, OptimiserStep
from rooftile.ops.patterns.elementwise import Elementwise
from rooftile.ops.patterns.record_mean import RecordMean

Kept = Mapping[str, Any]
"""Copies of what steps change, see `Resident.kept`."""


class Sent(NamedTuple):
    """Losses that are on their way to the host."""

    mark: Any
    losses: NDArray[np.float32]

    def read(self, first: int, last: int) -> list[float]:
        """The losses of some steps; waits for them."""
        if self.mark is not None:
            self.mark.sync()
        told: list[float] = self.losses[first:last].tolist()
        return told


class Resident:
    """The data, everything that a step reads and changes, and the launches that touch it."""

    def __init__(
        self,
        network: Network,
        data: NDArray[Any],
        labels: NDArray[Any],
        options: TrainingOptions,
        gpu: GpuDevice,
        precision: Precision = "ieee",
        data_memory: int | None = None,
    ) -> None:
        """``data``, ``labels`` and ``data_memory`` are as in `Batches`. Raises `InputError`,
        `OutOfMemory`, `CompileFailure`."""
        self.gpu, self.precision, self.options = gpu, precision, options
        self.batches = Batches(network, data, labels, options, gpu, data_memory)
        self.layout = ParameterLayout(network.parameter_shapes)
        self.memories = MEMORIES[options.optimizer]
        self.arrays = {
            name: gpu.upload(np.zeros(self.layout.count, np.float32))
            for name in ("parameters", "gradients", *self.memories)
        }
        steps = self.batches.steps
        self._rates = gpu.upload(np.zeros((steps, 4), np.float32))
        self.losses = gpu.upload(np.zeros(steps, np.float32))
        self._copies = copies_of(gpu)
        self._told = [host_array(gpu, (steps,), np.float32) for _ in "12"]
        """Losses of this epoch, and of the one before, which nobody may have read yet."""
        self._brought: Any = None
        """A mark behind the last copy of losses."""
        self.step = gpu.upload(np.zeros(1, np.int32))
        first = np.array([LOSS_SCALE, 0], np.float32)
        self.scaling = gpu.upload(first) if precision == "fp16" else None
        """The loss's factor, and the number of steps with it."""
        self._lasting = {name: self.arrays[name] for name in ("parameters", *self.memories)}
        self._lasting |= {} if self.scaling is None else {"scale": self.scaling}
        self._lasting["step"] = self.step

    def begin_epoch(
        self,
        order: NDArray[Any],
        variation: NDArray[np.int32],
        rates: NDArray[np.float32],
        step: int,
    ) -> None:
        """Say what the epoch's steps are to do, and which one is next. All steps of the epoch
        before have been started, and their losses sent for."""
        self._told.reverse()
        if self._brought is not None:
            # The steps write their losses over those that the copy reads.
            self.gpu.after(self._brought)
        self.batches.begin_epoch(order, variation, step)
        for array, to in (
            (np.ascontiguousarray(rates, np.float32), self._rates),
            (np.full(1, step, np.int32), self.step),
        ):
            self.gpu.copy_in(array, to)

    def load(self, name: str, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Copy parameters, or a memory by parameters' keys, to the device."""
        self.gpu.copy_in(self.layout.packed(arrays), self.arrays[name])

    def fetch(
        self,
        name: str,
        arrays: Mapping[str, NDArray[Any]],
        kept: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        """Copy arrays from the device; or, concurrently with its steps, from copies that were kept
        there before losses were sent that have been read."""
        whole = np.empty(self.layout.count, np.float32)
        if name in kept:
            self._copies.copy_out(kept[name], whole)
            self._copies.synchronise()
        else:
            self.gpu.copy_out(self.arrays[name], whole)
        self.layout.unpack(whole, arrays)

    def send_losses(self, steps: int) -> Sent:
        """Start to copy the mean losses of the epoch's first steps, after the steps that were
        started and concurrently with later ones."""
        self._copies.after(self.gpu.mark())
        self._copies.copy_out(self.losses, self._told[0][:steps])
        self._brought = self._copies.mark()
        return Sent(self._brought, self._told[0])

    @property
    def when(self) -> tuple[Any, Any]:
        """The rates of the epoch's steps, and the number of the next."""
        return self._rates, self.step

    def parameter(self, layer: str, kind: str) -> Any:
        """A parameter's memory."""
        return self.layout.part(self.gpu, self.arrays["parameters"], f"{layer}.{kind}")

    def gradient(self, layer: str, kind: str) -> Any:
        """Its gradient's memory."""
        return self.layout.part(self.gpu, self.arrays["gradients"], f"{layer}.{kind}")

    def scale(self, work: BoundLaunches, dz: Any, count: int) -> None:
        """Append what scales the gradient of the loss, where that is done."""
        if self.scaling is not None:
            work.run(Elementwise("scale", (count,)), dz, self.scaling, dz)

    def note(self, work: BoundLaunches, loss: Any, count: int) -> None:
        """Append what notes the mean loss and counts the step."""
        counted = self.losses, self.step
        work.run(RecordMean(count, self.batches.steps), loss, *counted, *counted)

    def update(self, work: BoundLaunches) -> None:
        """Append what changes the parameters, once the step is counted."""
        options, scaling = self.options, () if self.scaling is None else (self.scaling,)
        problem = OptimiserStep(
            self.layout.count,
            options.optimizer,
            options.momentum,
            self.layout.decayed,
            self.batches.steps,
            scaled=self.scaling is not None,
        )
        parameters, gradients, *memories = self.arrays.values()
        given = parameters, gradients, *memories, *self.when, *scaling
        work.run(problem, *given, parameters, *memories, *scaling)

    def kept(self) -> Kept:
        """Copies, on the device, of all that steps change for good, by name; nobody waits for
        them."""
        gpu, copies = self.gpu, dict[str, Any]()
        for name, array in self._lasting.items():
            copies[name] = copy = gpu.allocate(self._nbytes(array))
            gpu.copy(gpu.address(copy), gpu.address(array), self._nbytes(array))
        return copies

    def put_back(self, kept: Kept) -> None:
        """Undo what steps have changed since."""
        for name, array in self._lasting.items():
            copy = self.gpu.address(kept[name])
            self.gpu.copy(self.gpu.address(array), copy, self._nbytes(array))

    def _nbytes(self, array: Any) -> int:
        if array is self.step:
            return 4
        return 8 if array is self.scaling else 4 * self.layout.count
