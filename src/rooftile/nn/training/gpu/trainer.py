"""One run's data and model on a GPU, or another device that OpenCL drives like one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooftile.devices.select import DeviceName
from rooftile.nn.network import Network
from rooftile.nn.training.gpu.epochs import DeviceSteps, rates_of, variation_of
from rooftile.nn.training.losses import check_finite
from rooftile.nn.training.options import Progress, TrainingOptions
from rooftile.nn.training.phases import Phases
from rooftile.nn.training.state import State

Held = Callable[[State], tuple[float | None, float | None]]
"""Accuracy and loss on held-out data."""


class DeviceTrainer:
    """Epochs on a device.  The state's arrays are brought from there when somebody looks."""

    def __init__(
        self,
        network: Network,
        data: NDArray[Any],
        labels: NDArray[Any],
        options: TrainingOptions,
        phases: Phases,
        device: DeviceName,
        data_memory: int | None,
        held: Held,
    ) -> None:
        """``data``, ``labels`` and ``data_memory`` are those of `DeviceSteps`, which says what it
        raises."""
        self._options, self._phases, self._held = options, phases, held
        self._images, self._count = data.ndim > 2, len(data)
        self._steps = DeviceSteps(network, data, labels, options, device, data_memory)
        self._loaded = False
        self._good = 0, 0.0

    def epoch(self, state: State) -> Iterator[Progress]:
        """What is left of a pass over the data in a random order.

        A report for each step; those of some steps follow when all of them are done, and are
        counted: whoever stops at a report stops behind these steps.
        """
        options, epoch, count = self._options, state.epoch, self._count
        if not self._loaded:
            self._load(state)
        order, batch = state.generator.permutation(count), options.batch or count
        sizes = [min(batch, count - first) for first in range(0, count, batch)]
        with self._phases.of("data"):
            variation = self._varied(sizes, state.generator)
            rates = rates_of(options, epoch, len(sizes))
        begun = self._steps.losses(order, variation, rates, state.step, self._phases)
        while state.epoch == epoch:
            losses = next(begun)
            yield from [self._counted(state, loss, len(sizes)) for loss in losses]

    def _load(self, state: State) -> None:
        self._steps.load(state.parameters, state.optimiser.state)
        self._good, self._loaded = (state.step, state.total), True

        def settle() -> None:
            self._steps.fetch(state.parameters, state.optimiser.state)

        state.settle = settle

    def _counted(self, state: State, loss: float, steps: int) -> Progress:
        """Count a step; its report."""
        epoch, number, options = state.epoch, state.step, self._options
        rate = options.rate((epoch + number / steps) / options.epochs)
        if not np.isfinite(loss):
            # The device is beyond it: what is kept is what was brought from there last.
            state.step, state.total = self._good
            state.settle = lambda: None
        check_finite(loss, rate, number + 1, epoch + 1)
        mean, last = (state.total + loss) / (number + 1), number + 1 == steps
        done = state.optimiser.state.get("steps")
        if done is not None:
            done += 1
        if last:
            state.settle()
            self._good = 0, 0.0
        held = self._held(state) if last else (None, None)
        state.end_step(loss, last)
        return Progress(epoch + 1, options.epochs, number + 1, steps, mean, rate, *held)

    def _varied(self, sizes: list[int], generator: np.random.Generator) -> NDArray[np.int32]:
        """How the images of steps of these sizes are varied; features are not."""
        if self._images:
            return variation_of(self._options, sizes, generator)
        return np.zeros(sum(sizes), np.int32)
