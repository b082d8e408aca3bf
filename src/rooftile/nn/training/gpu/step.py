"""A training step on a device: forward, loss, backward, update, all of it a fixed list of launches.

On CUDA the list is captured as one graph; there the gradients of weights are a branch for which
nothing but the update waits. The best concurrent launches for the branch depend on the share of the
device that kernels take, so the first step tries orders, and the first steps try whether several
steps are one graph. Batches are gathered from data that stay on the device, by the epoch's order;
so are rates and the images' variation. A step sends nothing to the host: losses are noted on the
device.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np

from rooftile.nn.network import Network
from rooftile.nn.training.gpu.derivative import times_derivative
from rooftile.nn.training.gpu.forward import stages
from rooftile.nn.training.gpu.launches import BoundLaunches, Start
from rooftile.nn.training.gpu.layers import ConvStage, Stage
from rooftile.nn.training.gpu.linear_layer import LinearStage
from rooftile.nn.training.gpu.narrow import narrow_between
from rooftile.nn.training.gpu.resident import Resident
from rooftile.nn.training.losses import loss_of
from rooftile.nn.training.phases import Phases
from rooftile.ops.gradients.linear_cross_entropy import LinearCrossEntropy
from rooftile.ops.gradients.linear_weights_gradient import LinearWeightsGradient
from rooftile.ops.gradients.loss_gradient import LossGradient, RowLoss
from rooftile.ops.gradients.softmax_cross_entropy import SoftmaxCrossEntropy

TOGETHER = 8
"""Steps of one graph, between which the device need not wait for the next graph's start."""
_SHORT_MS = 0.3
"""Milliseconds of a step above which its start is a small part."""
_TRIES = 5
"""Times that each way to start is tried; the least counts."""


class TrainingStep:
    """A network's step for a number of images, on the memory of `Resident`."""

    def __init__(self, network: Network, held: Resident, count: int) -> None:
        """Raises `UnsupportedProblem`, `CompileFailure`, `OutOfMemory`."""
        self._network, self._held, self._count = network, held, count
        self._work = work = BoundLaunches(held.gpu, held.precision)
        self._outputs = network.output_shape[0]
        self._loss = loss_of(held.options.loss, self._outputs, network.layers[-1].activation)
        x = work.floats(count * math.prod(network.input_shape))
        targets = work.floats(count * (self._outputs if held.batches.numbers else 1))
        loss, dz = work.floats(count), work.floats(count * self._outputs)
        scores = self._loss.takes_scores
        row = list(stages(work, network, held, count, x, scores=scores))
        narrow = narrow_between([one for _, one in row], held.batches.may_lie(held.precision))
        work.phase = "backward"
        for (work.layer, _, _), one in row:
            if isinstance(one, LinearStage):
                one.begin()
        work.phase, work.layer = "data", ""
        held.batches.gather(work, x, targets, count, held.step, narrow)
        last = row[-1][1]
        end = self._end_of(row)
        joined = 0 if end is None else len(end.layers)
        work.phase = "forward"
        for (work.layer, _, _), one in row[: len(row) - joined]:
            one.forward()
        work.phase, work.layer = "loss", ""
        if end is not None:
            self._head(row, end, targets, loss, dz)
        else:
            self._end(last.y, targets, loss, dz)
            times_derivative(work, last.before, last.y, dz, count * self._outputs)
            work.phase = "backward"
            self._back(row, dz, loss)
        work.phase, work.layer = "update", ""
        work.join()
        held.update(work)

    def _end_of(self, row: Sequence[tuple[Any, Stage]]) -> LinearCrossEntropy | None:
        """The last one or two layers with the loss, where one launch makes them all; below them is
        another stage."""
        entropy = self._loss.name == "cross_entropy" and self._outputs > 1
        if not entropy or len(row) < 2 or not isinstance(row[-1][1], LinearStage):
            return None
        below, last = row[-2][1], row[-1][1].problem
        scaled = self._held.scaling is not None
        settled = any(isinstance(one, ConvStage) for _, one in row)
        sizes = self._count, last.inputs, last.outputs
        if len(row) > 2 and isinstance(below, LinearStage):
            first: Any = below.problem
            under: Any = row[-3][1].before
            layer = first.activation, first.inputs, under
            both = LinearCrossEntropy(*sizes, *layer, scaled, settled)
            if self._work.pays(both):
                return both
        before: Any = below.before
        alone = LinearCrossEntropy(*sizes, before, scaled=scaled, settled=settled)
        return alone if self._work.pays(alone) else None

    def _head(
        self,
        row: Sequence[tuple[Any, Stage]],
        end: LinearCrossEntropy,
        targets: Any,
        loss: Any,
        dz: Any,
    ) -> None:
        """The last layers, the loss, and all gradients."""
        held, work, joined = self._held, self._work, len(end.layers)
        ends: Any = row[-joined:]
        layer, shape, _ = ends[0][0]
        layers = [one for _, one in ends]
        parameters = [parameter for one in layers for parameter in one.parameters]
        scaling = () if held.scaling is None else (held.scaling,)
        dx, work.layer = work.floats(math.prod(shape)), layer
        # Each layer's input, and the gradient before its activation.
        between, given = [], [layers[-1].x, dz]
        if joined == 2:
            between = [layers[1].x, work.floats(math.prod(ends[1][0][1]))]
            given = [layers[0].x, between[1], *given]
        work.run(end, layers[0].x, *parameters, targets, *scaling, *between, dx, loss, dz)
        made = [held.gradient(name, kind) for (name, _, kinds), _ in ends for kind in kinds]
        problem = LinearWeightsGradient(self._count, end.inputs, end.outputs, end.features)

        def weights() -> None:
            work.layer = layer
            work.run(problem, *given, *made)

        work.phase = "backward"
        self._back(row[:-joined], dx, loss, weights)

    def _end(self, y: Any, targets: Any, loss: Any, dz: Any) -> None:
        """The loss of outputs, and its gradient."""
        count, outputs, held, work = self._count, self._outputs, self._held, self._work
        name: RowLoss = "sigmoid_cross_entropy"
        if self._loss.name == "cross_entropy" and outputs > 1:
            work.run(SoftmaxCrossEntropy(count, outputs, divisor=count), y, targets, loss, dz)
        else:
            if self._loss.name != "cross_entropy":
                name = self._loss.name
            work.run(LossGradient(count, outputs, name, held.batches.numbers), y, targets, loss, dz)
        held.scale(work, dz, count * outputs)

    def _back(
        self,
        row: Sequence[tuple[Any, Stage]],
        dz: Any,
        loss: Any,
        others: Callable[[], None] | None = None,
    ) -> None:
        """The gradients of all parameters, from the last stage to the first. The loss is noted
        concurrently with the first stage: nothing reads the step's number there. The gradients of
        ``others`` are appended after it: earlier they would delay the larger ones."""
        work = self._work
        for number in reversed(range(len(row))):
            (name, shape, kinds), one = row[number]
            if number == 0:
                self._note(loss)
                if others is not None:
                    with work.aside(line=1):
                        others()
            work.layer = name
            gradients = [self._held.gradient(name, kind) for kind in kinds]
            dx = work.floats(math.prod(shape)) if number else None
            one.backward(dz, gradients, dx, row[number - 1][1].before if number else "none")
            dz = dx

    def _note(self, loss: Any) -> None:
        work, phase = self._work, self._work.phase
        work.phase, work.layer = "update", ""
        with work.aside(line=1):
            self._held.note(work, loss, self._count)
        work.phase = phase

    def compile(self) -> None:
        """Wait for its kernels, which other threads compile since it was made. Raises
        `UnsupportedProblem`, `CompileFailure`, `OutOfMemory`."""
        self._work.compile()

    @property
    def starts(self) -> list[Start]:
        """The launches, each after the ones before it."""
        return self._work.starts

    def profiled(self, phases: Phases) -> None:
        """Start the step launch by launch, and tell how long each was on the device. Work that is
        under way there hides how long the host takes to start them."""
        gpu, at = self._held.gpu, time.perf_counter()
        marks = [gpu.mark()]
        for one in self.starts:
            one.start()
            marks.append(gpu.mark())
        gpu.synchronise()
        for one, before, after in zip(self.starts, marks, marks[1:], strict=False):
            seconds = gpu.between(before, after) / 1e3
            phases.took(one.phase, one.layer, at, seconds)
            at += seconds

    def __call__(self) -> None:
        """Start the step."""
        self._one()

    @cached_property
    def several(self) -> Callable[[], object] | None:
        """A function that starts `TOGETHER` steps as one graph; None where they take no longer one
        by one. All are tried, on memory that is restored: the epoch must have that number of whole
        batches left, all of them on the device."""
        if self._least([self._one])[0] > _SHORT_MS:
            return None
        captured, orders = self._held.gpu.captured, self._work.orders
        graphs = [captured(partial(_repeated, partial(self._work.start, one))) for one in orders]
        alone, *times = self._least([partial(_repeated, self._one), *graphs])
        return graphs[times.index(min(times))] if min(times) < alone else None

    @cached_property
    def _one(self) -> Callable[[], object]:
        """The work in the order that takes least time, tried on places that are put back."""
        gpu, held = self._held.gpu, self._held
        kept = held.kept()
        # What a graph captures must have run before.
        self._work.start()
        gpu.synchronise()
        held.put_back(kept)
        graphs = [gpu.captured(partial(self._work.start, one)) for one in self._work.orders]
        times = self._least(graphs) if len(graphs) > 1 else [0.0]
        return graphs[times.index(min(times))]

    def _least(self, ways: Sequence[Callable[[], object]]) -> list[float]:
        """The least milliseconds of each way to start steps, on places that are put back."""
        gpu, held = self._held.gpu, self._held
        kept, number, times = held.kept(), np.zeros(1, np.int32), [math.inf] * len(ways)
        gpu.copy_out(held.step, number)
        for _ in range(_TRIES):
            for i, start in enumerate(ways):
                gpu.copy_in(number, held.step)
                with gpu.timer() as elapsed:
                    start()
                times[i] = min(times[i], elapsed.milliseconds)
        held.put_back(kept)
        return times


def _repeated(start: Callable[[], object]) -> None:
    for _ in range(TOGETHER):
        start()
