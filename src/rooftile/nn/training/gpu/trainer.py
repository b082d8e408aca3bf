"""One run's data and model on a GPU, or another device that OpenCL drives like one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rooftile.devices.select import DeviceName
from rooftile.nn.network import Network
from rooftile.nn.training.gpu.epochs import DeviceSteps, Given, rates_of, variation_of
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
        """``data``, ``labels`` and ``data_memory`` are as in `DeviceSteps`, which says what it
        raises."""
        self._options, self._phases, self._held = options, phases, held
        self._images, self._count = data.ndim > 2, len(data)
        batch = options.batch or len(data)
        self._sizes = [min(batch, len(data) - first) for first in range(0, len(data), batch)]
        """Items of an epoch's steps."""
        self._ahead: _Drawn | None = None
        self._steps = DeviceSteps(network, data, labels, options, device, data_memory)
        self._loaded, self._fetched = False, False
        self._good = 0, 0.0
        """Step and sum of losses of what the device remembers."""

    def epoch(self, state: State) -> Iterator[Progress]:
        """The rest of a pass over the data in a random order. A report for each step; the reports
        of some steps follow when all of them are done, and are counted, and the next steps are in
        flight: a caller who stops at a report stops after these."""
        epoch = state.epoch
        if not self._loaded:
            self._load(state)
        with self._phases.of("data"):
            drawn = self._ahead or self._draw(epoch, state.generator.bit_generator.state)
            state.generator.bit_generator.state = drawn.behind
        self._ahead = None

        def following() -> Given:
            if self._ahead is None:
                self._ahead = self._draw(epoch + 1, drawn.behind)
            return self._ahead.given

        last = epoch + 1 == self._options.epochs
        # What is held out may end the run; so the device waits for what that comes to.
        goes_on = None if last or self._options.holdout else following
        for losses in self._steps.losses(drawn.given, state.step, self._phases, goes_on):
            if not last:
                # This overlaps the device's work.
                following()
            yield from [self._counted(state, loss) for loss in losses]

    def _draw(self, epoch: int, begun: Mapping[str, Any]) -> _Drawn:
        """An epoch's random numbers, from the generator's state."""
        options, generator = self._options, np.random.default_rng()
        generator.bit_generator.state = begun
        order, variation = generator.permutation(self._count), self._varied(generator)
        rates = rates_of(options, epoch, len(self._sizes))
        return _Drawn(Given(order, variation, rates), generator.bit_generator.state)

    def _load(self, state: State) -> None:
        self._steps.load(state.parameters, state.optimiser.state)
        self._good, self._loaded = (state.step, state.total), True

        def settle() -> None:
            # At an epoch's end the device may be beyond it, and nobody counts these steps.
            for loss in self._steps.untold() if state.step else ():
                self._counted(state, loss)
            self._fetch(state, ended=state.step == 0)

        state.settle = settle

    def _fetch(self, state: State, ended: bool) -> None:
        """Bring the state's arrays from where the device stands, or from where it stood when the
        last epoch ``ended``."""
        if not self._fetched:
            self._steps.fetch(state.parameters, state.optimiser.state, ended)
            self._fetched = True

    def _counted(self, state: State, loss: float) -> Progress:
        """Count a step; its report."""
        epoch, number, options = state.epoch, state.step, self._options
        steps, self._fetched = len(self._sizes), False
        rate = options.rate((epoch + number / steps) / options.epochs)
        done = state.optimiser.state.get("steps")
        if not math.isfinite(loss):
            # The device is beyond it, and what it says of the next steps means nothing.
            self._steps.untold()
            self._steps.recall()
            if done is not None:
                done -= number - self._good[0]
            state.step, state.total = self._good
        check_finite(loss, rate, number + 1, epoch + 1)
        mean, last = (state.total + loss) / (number + 1), number + 1 == steps
        if done is not None:
            done += 1
        held: tuple[float | None, float | None] = None, None
        if last:
            self._steps.remember()
            self._good = 0, 0.0
            if self._options.holdout > 0:
                self._fetch(state, ended=True)
                held = self._held(state)
        state.end_step(loss, last)
        return Progress(epoch + 1, options.epochs, number + 1, steps, mean, rate, *held)

    def _varied(self, generator: np.random.Generator) -> NDArray[np.int32]:
        """The variation of an epoch's images; features are not varied."""
        if self._images:
            return variation_of(self._options, self._sizes, generator)
        return np.zeros(self._count, np.int32)


class _Drawn(NamedTuple):
    """The arguments of an epoch's steps, and the generator's state after them."""

    given: Given
    behind: Mapping[str, Any]
