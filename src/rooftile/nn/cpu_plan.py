"""A plan on the CPU: small layers chained, a few images at a time, through cache."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from rooftile.devices import cpu
from rooftile.nn.cpu_chain import Link, chain
from rooftile.nn.cpu_sequence import BoundSequence, Stage
from rooftile.nn.definition import NetworkDefinition
from rooftile.nn.plan import Plan, PlannedLayer
from rooftile.ops import AnyArray, Float32, Layer, Precision
from rooftile.ops.checks import check_positive
from rooftile.strategies import Bound
from rooftile.strategies.contract.cpu_kernel import packed

_CHAINED_PARAMETERS = 64 * 1024
"""Largest number of parameters of a layer in a chain: more would be fetched from memory again for
every few images."""
_GROUP = 8
"""Largest number of images that go through a chain at a time."""


class _Buffer:
    """float32 of a shape, allocated when it is first needed."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._shape = shape
        self._array: Float32 | None = None

    def of(self, count: int) -> Float32:
        """The first ``count`` items.  Raises `OutOfMemory`."""
        if self._array is None:
            whole = cpu.allocate(math.prod(self._shape), "a plan's buffer")
            self._array = whole.reshape(self._shape)
        return self._array[:count]


class _Step:
    """One call, and the buffer for its result where another step follows."""

    def __init__(self, bound: Callable[..., None], last: Layer) -> None:
        self.bound, self.output = bound, _Buffer(last.output_shape).of


class CpuPlan(Plan):
    """A plan whose calls run on ``threads`` threads."""

    def __init__(
        self,
        network: NetworkDefinition,
        batch: int,
        precision: Precision = "ieee",
        *,
        threads: int | None = None,
        strategies: Mapping[str, str] | None = None,
        prepared: bool = False,
    ) -> None:
        """See `Plan`; ``threads`` is by default the number of cores."""
        if threads is not None:
            check_positive(threads=threads)
        super().__init__(network, batch, precision, "cpu", strategies, prepared)
        self._asked_threads = threads
        self.threads = threads or cpu.cores()
        self._steps = _steps(self.layers, batch, self.threads)
        self._numbers, self._scores = (
            _Buffer((batch, *shape)) for shape in (network.input_shape, network.output_shape)
        )

    def _options(self) -> dict[str, Any]:
        return {"threads": self._asked_threads, "strategies": self._asked}

    def _run(self, images: AnyArray, scores: AnyArray) -> None:
        """Images and scores of other dtypes go through buffers of float32."""
        count, same = len(images), scores.dtype == np.float32
        x, y = self._as_numbers(images), scores if same else self._scores.of(count)
        for step in self._steps[:-1]:
            output = step.output(count)
            step.bound(x, output)
            x = output
        self._steps[-1].bound(x, y)
        if not same:
            with np.errstate(over="ignore"):
                scores[...] = y

    def _as_numbers(self, images: AnyArray) -> Float32:
        if images.dtype == np.float32:
            return images
        x = self._numbers.of(len(images))
        x[...] = images
        if images.dtype == np.uint8:
            assert self.network.pixels is not None
            self.network.pixels.standardise(x)
        return x


def _steps(layers: Sequence[PlannedLayer], batch: int, threads: int) -> list[_Step]:
    """Neighbouring layers made of kernels are one step, any other layer a step by itself."""
    steps = []
    for kernels, run in groupby(layers, lambda layer: _is_kernel(layer, threads)):
        members = list(run)
        if kernels:
            stages = [_stage(part, batch, threads) for part in _chains(members, batch, threads)]
            steps.append(_Step(BoundSequence(stages, batch, threads), members[-1].problem))
        else:
            steps += [_Step(_bound(layer, threads), layer.problem) for layer in members]
    return steps


def _is_kernel(layer: PlannedLayer, threads: int) -> bool:
    """True if the layer can share a call: a kernel that wants as many threads as the others."""
    return layer.strategy.kernels and (layer.strategy.parallel or threads == 1)


def _bound(layer: PlannedLayer, threads: int) -> Bound:
    device = cpu.open_device(threads)
    bound: Bound = layer.strategy.bind(layer.problem, layer.parameters, device)
    return bound


def _chains(layers: Sequence[PlannedLayer], batch: int, threads: int) -> list[list[PlannedLayer]]:
    """Neighbouring layers that are chained, and the others by themselves."""

    def chained(layer: PlannedLayer) -> bool:
        numbers = sum(array.size for array in layer.problem.parameter_arrays)
        # With few images the cores share each layer's work, not the images.
        return batch >= 2 * threads and numbers <= _CHAINED_PARAMETERS

    parts: list[list[PlannedLayer]] = []
    for together, run in groupby(layers, chained):
        members = list(run)
        parts += [members] if together else [[layer] for layer in members]
    return parts


def _stage(layers: Sequence[PlannedLayer], batch: int, threads: int) -> Stage:
    """One layer, or several that a small group of images goes through at a time.  The groups are so
    small that there are enough of them for every core."""
    group = max(1, min(_GROUP, batch // (2 * threads))) if len(layers) > 1 else batch
    links = []
    for layer in layers:
        problem = layer.problem.with_batch(group)
        kernel = layer.strategy.kernel(problem)
        links.append(Link(problem, kernel, *packed(layer.parameters, kernel, threads)))
    image, result = links[0].image[0], links[-1].image[1]
    if len(links) == 1:
        return Stage(links[0].kernel, links[0].weights, links[0].bias, image, result)
    return Stage(*chain(links, group), image, result)
