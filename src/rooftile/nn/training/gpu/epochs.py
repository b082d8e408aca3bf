"""The steps of an epoch on a device, some of them at a time."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rooftile.devices.select import DeviceName, lent_gpu, parse_device
from rooftile.errors import InputError, UnsupportedProblem
from rooftile.nn.network import Network
from rooftile.nn.training.gpu.resident import Kept, Resident
from rooftile.nn.training.gpu.step import TOGETHER, TrainingStep
from rooftile.nn.training.options import TrainingOptions
from rooftile.nn.training.phases import Phases
from rooftile.ops.gradients.optimiser_step import SQUARE_DECAY
from rooftile.runtime.selection.choice import ROUNDING_KINDS

PATIENCE_S = 0.01
"""So long the steps take whose losses the host asks for at a time."""
_LOOKED_AT = 4


Told = Callable[[], list[float]]
"""Waits for the losses of some steps."""


class Given(NamedTuple):
    """The arguments of an epoch's steps."""

    order: NDArray[Any]
    variation: NDArray[np.int32]
    rates: NDArray[np.float32]
    """Of each step, see `rates_of`."""


class DeviceSteps:
    """A network's training on a device; parameters and what belongs to them stay there."""

    def __init__(
        self,
        network: Network,
        data: NDArray[Any],
        labels: NDArray[Any],
        options: TrainingOptions,
        device: DeviceName,
        data_memory: int | None = None,
    ) -> None:
        """``data`` and ``labels`` are those that are trained with; of the device's memory they take
        at most ``data_memory`` bytes (`source_of`). Raises `UnsupportedProblem` for what only the
        CPU trains, `DeviceMissing`, `CompileFailure`, `OutOfMemory`."""
        _check(options, device)
        self._network, self._options = network, options
        self._gpu, self._count = lent_gpu(device), len(data)
        with self._gpu.on():
            given = network, data, labels, options, self._gpu, options.precision
            self.held = Resident(*given, data_memory)
        self._some = 1
        """Steps whose losses are asked for at a time."""
        self._untold: Told | None = None
        self._begun: Iterator[Told] | None = None
        """The started part of the next epoch."""
        self._ends = deque[Kept]()
        """Copies of where the device stands behind the last step of each epoch that was started and
        is not remembered."""
        self._remembered: Kept = {}

    def load(self, parameters: Mapping[str, NDArray[Any]], memory: Mapping[str, Any]) -> None:
        """Bring parameters and the optimiser's memory to the device."""
        with self._gpu.on():
            self.held.load("parameters", parameters)
            for name in self.held.memories:
                self.held.load(name, {key: memory[f"{name}.{key}"] for key in parameters})
            if self.held.scaling is not None:
                self._gpu.copy_in(memory["scale"], self.held.scaling)
            self._remembered = self.held.kept()

    def remember(self) -> None:
        """The end of the next epoch is good, whose steps have all been told; until then what was
        loaded is remembered."""
        self._remembered = self._ends.popleft()

    def recall(self) -> None:
        """Go back to what is remembered, behind all steps that were started."""
        with self._gpu.on():
            self.held.put_back(self._remembered)

    def fetch(
        self,
        parameters: Mapping[str, NDArray[Any]],
        memory: Mapping[str, Any],
        remembered: bool = False,
    ) -> None:
        """Bring them back, into arrays of the same names; or what is ``remembered`` of them."""
        kept = self._remembered if remembered else {}
        with self._gpu.on():
            self.held.fetch("parameters", parameters, kept)
            for name in self.held.memories:
                named = {key: memory[f"{name}.{key}"] for key in parameters}
                self.held.fetch(name, named, kept)
            if self.held.scaling is not None:
                self._gpu.copy_out(kept.get("scale", self.held.scaling), memory["scale"])

    def losses(
        self,
        given: Given,
        first: int,
        phases: Phases | None = None,
        following: Callable[[], Given] | None = None,
    ) -> Iterator[list[float]]:
        """Do the epoch's steps from ``first`` on; their mean losses, some steps at a time.

        While the caller looks at the losses of some steps, the device computes the next ones, see
        `untold`; behind the last ones the first of the epoch that is ``following``, if there is
        one.  Where ``phases`` are timed, one step in `_LOOKED_AT` is: those before it hide how
        long the host takes to start its launches.
        """
        begin = time.monotonic()
        started, self._begun = self._begun or self._started(given, first, phases), None
        told = next(started, None)
        while told is not None:
            then = self._untold = next(started, None)
            if then is None and following is not None:
                epoch = self._started(following(), 0, phases)
                self._untold = next(epoch)
                self._begun = chain((self._untold,), epoch)
            losses, now = told(), time.monotonic()
            if now - begin < PATIENCE_S:
                self._some = min(2 * self._some, len(given.rates))
            begin, told = now, then
            yield losses

    def untold(self) -> list[float]:
        """The losses of the steps that were started since; of no use but once."""
        sent, self._untold = self._untold, None
        return [] if sent is None else sent()

    def _started(self, given: Given, first: int, phases: Phases | None) -> Iterator[Told]:
        """Start some of an epoch's steps at a time; what waits for their losses."""
        steps = len(given.rates)
        with self._gpu.on():
            self.held.begin_epoch(*given, first)
        while first < steps:
            last = min(steps, first + self._some)
            with self._gpu.on():
                self._start(first, last, phases)
                if last == steps:
                    self._ends.append(self.held.kept())
                sent = self.held.send_losses(last)
            yield partial(sent.read, first, last)
            first = last

    def _start(self, number: int, last: int, phases: Phases | None) -> None:
        """Start the steps from one to another, several of whole batches together."""
        batches, timed = self.held.batches, phases is not None and phases.timed
        whole = min(last, self._count // batches.size)
        while number < last:
            step = self._steps[min(batches.size, self._count - number * batches.size)]
            alone = timed or batches.streamed or whole - number < TOGETHER
            if not alone and step.several is not None:
                step.several()
                number += TOGETHER
                continue
            batches.before(number)
            number += 1
            if phases is not None and timed and number % _LOOKED_AT == 0:
                step.profiled(phases)
            else:
                step()

    def compile(self) -> None:
        """Have the kernels of all steps compiled, which the first step does otherwise."""
        with self._gpu.on():
            for step in self._steps.values():
                step.compile()

    @cached_property
    def _steps(self) -> dict[int, TrainingStep]:
        """The steps by their numbers of images: an epoch's last one may have fewer. The kernels of
        all of them are compiled at the same time."""
        batch = self.held.batches.size
        sizes = min(batch, self._count), self._count % batch or batch
        return {size: TrainingStep(self._network, self.held, size) for size in dict.fromkeys(sizes)}


def rates_of(options: TrainingOptions, epoch: int, steps: int) -> NDArray[np.float32]:
    """The rates of the steps of an epoch, as `optimiser_step` takes them: float32[steps, 4]."""
    made = []
    for number in range(steps):
        rate = options.rate((epoch + number / steps) / options.epochs)
        done, root = epoch * steps + number + 1, 1.0
        kept = 1 - rate * options.weight_decay
        if options.optimizer == "adam":
            rate /= 1 - options.momentum**done
            root = math.sqrt(1 - SQUARE_DECAY**done)
        made.append((rate, kept, root, epoch))
    return np.array(made, np.float64).astype(np.float32)


def variation_of(
    options: TrainingOptions, sizes: Sequence[int], generator: np.random.Generator
) -> NDArray[np.int32]:
    """The variation of the images of steps of these sizes, all equal but the last, as `augment`
    draws it step by step: rows moved, columns moved << 8, mirrored << 16."""
    if options.flip and len(sizes) > 1:
        return np.concatenate([variation_of(options, [n], generator) for n in sizes])
    count, batch = sum(sizes), sizes[0]
    found = np.zeros(count, np.int32)
    if options.flip:
        found += (generator.random(count) < 0.5).astype(np.int32) << 16
    if options.shift:
        # Integers come one after another from the generator, however many a call asks for.
        drawn = generator.integers(0, 2 * options.shift + 1, size=2 * count).astype(np.int32)
        whole = count // batch * batch
        for part, first, last in ((batch, 0, whole), (count - whole, whole, count)):
            if last > first:
                moved = drawn[2 * first : 2 * last].reshape(-1, 2, part)
                found[first:last] += (moved[:, 0] + (moved[:, 1] << 8)).ravel()
    return found


def _check(options: TrainingOptions, device: DeviceName) -> None:
    """Raise `UnsupportedProblem` for what only the CPU trains, and `InputError` for a precision
    that the device has not."""
    if options.precision != "ieee" and parse_device(device)[0] not in ROUNDING_KINDS:
        expected = f"'ieee' on {device}: only tensor cores of device 'cuda' round their operands"
        raise InputError("precision", options.precision, expected)
    for wrong, found in (
        (options.dtype != "float32", "float64"),
        (options.shift > 127, f"a shift of {options.shift} pixels"),
    ):
        if wrong:
            raise UnsupportedProblem("training on a GPU", found, 'device="cpu"')
