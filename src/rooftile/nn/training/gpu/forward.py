"""A network's forward pass on a device: of a training step, and alone."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooftile.devices.select import DeviceName, lent_gpu
from rooftile.nn.layers import trained
from rooftile.nn.network import Network
from rooftile.nn.training.gpu.behind import DropoutStage, activation_stage
from rooftile.nn.training.gpu.launches import BoundLaunches
from rooftile.nn.training.gpu.layers import Stage, stage
from rooftile.nn.training.gpu.narrow import narrow_between
from rooftile.nn.training.gpu.resident import Resident
from rooftile.nn.training.options import TrainingOptions
from rooftile.ops import Float32
from rooftile.ops.layers.dropout import Dropout

_APART = 64
"""float32 at whose multiples a batch's outputs begin, as `GpuDevice.part` asks."""


def stages(
    work: BoundLaunches, network: Network, held: Resident, count: int, x: Any, *, scores: bool
) -> Iterator[tuple[Any, Stage]]:
    """The stages of ``count`` items from the input on, each with the layer's name, the shape of its
    input, and the kinds of its parameters.

    ``scores``: the last one's activation is left out.
    """
    number, weighted = 0, network.weighted(count)
    for layer, (name, problem) in zip(network.layers, weighted, strict=True):
        last = layer is network.layers[-1]
        problem, behind = trained(layer, problem)
        if last and scores:
            behind = "none"
            scored: Any = problem
            problem = dataclasses.replace(scored, activation="none")
        kinds = tuple(problem.parameter_shapes)
        given = [held.parameter(name, kind) for kind in kinds]
        one = stage(work, problem, x, given, first=layer is network.layers[0])
        yield (name, problem.input_shape, kinds), one
        shape = problem.output_shape
        if behind != "none":
            one = activation_stage(work, behind, one.y, shape)
            yield (f"{name}.{behind}", shape, ()), one
        if held.options.dropout > 0 and not last:
            share, seed, size = held.options.dropout, held.options.seed % 2**64, math.prod(shape)
            dropped = Dropout(size, share, seed, number, held.batches.steps)
            one, number = DropoutStage(work, dropped, one.y, *held.when), number + 1
            yield (f"{name}.dropout", shape, ()), one
        x = one.y


class Outputs:
    """A network's outputs of rows or images, by the kernels of its training."""

    def __init__(
        self, network: Network, data: NDArray[Any], options: TrainingOptions, device: DeviceName
    ) -> None:
        """Raises what `DeviceSteps` raises."""
        self._network, self._given, self._gpu = network, len(data), lent_gpu(device)
        self._count = count = options.batch or len(data)
        # The last batch is filled up: one of another size would be other kernels.
        whole = data[np.arange(-(-len(data) // count) * count) % len(data)]
        # As many pixels as an image may move by, each way, leave it where it is.
        shift = options.shift if data.ndim > 2 else 0
        self._still = np.full(len(whole), shift + (shift << 8), np.int32)
        options = dataclasses.replace(options, dropout=0.0, holdout=0, patience=None)
        with self._gpu.on():
            labels = np.zeros(len(whole), np.int64)
            held = Resident(network, whole, labels, options, self._gpu, options.precision)
            self._held, self._work = held, BoundLaunches(self._gpu, options.precision)
            x = self._work.floats(count * math.prod(network.input_shape))
            row = [one for _, one in stages(self._work, network, held, count, x, scores=False)]
            narrow = narrow_between(row, held.batches.may_lie(options.precision))
            targets = self._work.floats(count)
            held.batches.gather(self._work, x, targets, count, held.step, narrow)
            self._row = row
            for one in self._row:
                one.forward()
            # What counts a training's steps counts the batches: the host waits for none of them.
            held.note(self._work, self._work.floats(count), count)

    def compile(self) -> None:
        """Have its kernels compiled, which asking for outputs does otherwise."""
        with self._gpu.on():
            self._work.compile()

    def __call__(self) -> Float32:
        """The outputs with the network's parameters: float32[n, outputs]."""
        held, gpu, batches = self._held, self._gpu, self._held.batches
        y, numbers = self._row[-1].y, self._count * self._network.output_shape[0]
        apart = -(-numbers // _APART) * _APART
        made = np.empty((batches.steps, apart), np.float32)
        with gpu.on():
            held.load("parameters", self._network.parameters)
            rates, order = np.zeros((batches.steps, 4), np.float32), np.arange(len(self._still))
            held.begin_epoch(order, self._still, rates, 0)
            outputs = gpu.allocate(made.nbytes)
            for number in range(batches.steps):
                batches.before(number)
                self._work.start()
                to = gpu.part(outputs, 4 * number * apart, 4 * apart)
                gpu.copy(gpu.address(to), gpu.address(y), 4 * numbers)
            gpu.copy_out(outputs, made)
        rows = made[:, :numbers].reshape(len(self._still), -1)
        return rows[: self._given]
