"""A training step on a device: forward, loss, backward, update, all of it a fixed list of launches.

On CUDA the list is captured as one graph.  Batches are gathered from data that stay on the device,
by the epoch's order; so are rates and what varies the images.  A step says nothing to the host:
losses are noted on the device.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property

from rooftile.nn.network import Network
from rooftile.nn.training.gpu.launches import Work
from rooftile.nn.training.gpu.layers import Stage, stage, times_derivative
from rooftile.nn.training.gpu.resident import Resident
from rooftile.ops.softmax_cross_entropy import SoftmaxCrossEntropy


class Step:
    """A network's step for so many images, on what `Resident` holds."""

    def __init__(self, network: Network, held: Resident, count: int) -> None:
        """Raises `UnsupportedProblem`, `CompileFailure`, `OutOfMemory`."""
        self._held, self._count, gpu = held, count, held.gpu
        self._work = work = Work(gpu, held.precision)
        problems = network.problems(count)
        x = work.floats(count * math.prod(network.input_shape))
        labels, loss = work.floats(count), work.floats(count)
        work.call(held.gather(x, labels, count))
        stages = list[Stage]()
        for name, problem in problems:
            kinds = problem.parameter_shapes
            stages.append(stage(work, problem, x, [held.parameter(name, k) for k in kinds]))
            stages[-1].forward()
            x = stages[-1].y
        self.scores, classes = x, network.output_shape[0]
        dz = work.floats(count * classes)
        work.run(SoftmaxCrossEntropy(count, classes, divisor=count), x, labels, loss, dz)
        for call in held.scaled(dz, count * classes):
            work.call(call)
        times_derivative(work, stages[-1].before, x, dz, count * classes)
        for number in reversed(range(len(stages))):
            name, problem = problems[number]
            gradients = [held.gradient(name, kind) for kind in problem.parameter_shapes]
            dx = work.floats(math.prod(problem.input_shape)) if number else None
            below = stages[number - 1].before if number else "none"
            stages[number].backward(dz, gradients, dx, below)
            dz = dx
        for call in held.update(loss, count):
            work.call(call)

    @property
    def launches(self) -> list[tuple[str, Callable[[], None]]]:
        """What it starts one after another, with names."""
        return self._work.starts

    def __call__(self) -> None:
        """Start the step."""
        self._start()

    @cached_property
    def _start(self) -> Callable[[], object]:
        # What a graph captures must have run before: on places that are put back.
        gpu, held = self._held.gpu, self._held
        kept = held.kept()
        self._work.start()
        gpu.synchronise()
        held.put_back(kept)
        return gpu.captured(self._work.start)
