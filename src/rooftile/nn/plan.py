"""A network compiled for a device and a batch: strategies picked, buffers held."""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from rooftile.devices import cpu
from rooftile.dispatch import check_network_device, choose
from rooftile.errors import InputError
from rooftile.lab.measure import Timing, interleaved
from rooftile.ops import Float32, Precision, Problem, check_precision
from rooftile.ops.problem import check_positive
from rooftile.strategies import Bound, CpuStrategy, Strategy
from rooftile.strategies.chain import Link, chain
from rooftile.strategies.cpu import pack
from rooftile.strategies.sequence import BoundSequence, Stage

if TYPE_CHECKING:
    from rooftile.nn.network import Network

_CHAINED_WEIGHTS = 64 * 1024
"""float32 of packed weights up to which a layer joins a chain: larger ones would be fetched
from memory again for every few images."""
_GROUP = 8
"""Most images that go through a chain at a time."""


@dataclass(frozen=True)
class _Layer:
    """One layer with the strategy that was picked for it."""

    name: str
    problem: Problem
    strategy: Strategy
    parameters: tuple[Float32, ...]


class _Step:
    """What runs at once, and the buffer for its result where another step follows."""

    def __init__(self, bound: Bound, last: Problem) -> None:
        self.bound, self._last = bound, last
        self._buffer: Float32 | None = None

    def output(self, count: int) -> Float32:
        """The result of ``count`` images."""
        if self._buffer is None:
            size = math.prod(self._last.output_shape)
            self._buffer = cpu.allocate(size, "a layer's output").reshape(self._last.output_shape)
        return self._buffer[:count]


class Plan:
    """Classifies any number of images, ``batch`` at a time; the last batch may be partial.

    Made by `Network.plan`.  Buffers are allocated once, here; a call allocates its
    result and nothing else.  Calls from several threads take turns.
    """

    def __init__(
        self,
        network: Network,
        batch: int,
        precision: Precision = "ieee",
        *,
        device: str | None = None,
        threads: int | None = None,
        strategies: Mapping[str, str] | None = None,
    ) -> None:
        """Pick, compile and allocate.  Raises `InputError`, `UnsupportedProblem`, `OutOfMemory`.

        ``strategies`` names the strategy of some layers; the others are chosen.
        """
        check_positive(batch=batch)
        check_precision(precision)
        check_network_device(device or "cpu")
        if threads is not None:
            check_positive(threads=threads)
        self.network, self.batch, self.precision = network, batch, precision
        self.device = "cpu"
        self._threads = threads or cpu.cores()
        self._layers = _pick(network, batch, precision, strategies or {})
        self._steps = _steps(self._layers, batch, self._threads)
        self._turn = threading.Lock()

    @property
    def strategies(self) -> dict[str, str]:
        """Each layer's strategy by name."""
        return {layer.name: layer.strategy.name for layer in self._layers}

    def __call__(self, images: Float32, *, out: Float32 | None = None) -> Float32:
        """Scores float32[N, classes] of images float32[N, channels, height, width], N >= 1.

        ``out`` takes the scores where it is given.  Raises `InputError` for another
        dtype or shape; only contiguity is converted.
        """
        images = _checked(images, self.network.input_shape)
        shape = (images.shape[0], *self.network.output_shape)
        scores = np.empty(shape, np.float32) if out is None else _checked_out(out, shape)
        with self._turn:
            for first in range(0, images.shape[0], self.batch):
                part = images[first : first + self.batch]
                count = part.shape[0]
                for step in self._steps[:-1]:
                    output = step.output(count)
                    step.bound(part, output)
                    part = output
                self._steps[-1].bound(part, scores[first : first + count])
        return scores

    def profile(self, images: Float32) -> dict[str, Timing]:
        """Time each layer by itself on the first batch of ``images``, milliseconds.

        Chained layers are taken apart for this, so the sum exceeds the whole plan's time.
        """
        part = _checked(images, self.network.input_shape)[: self.batch]
        calls = {}
        for layer in self._layers:
            problem = layer.problem.with_batch(part.shape[0])
            bound = layer.strategy.bind(problem, *layer.parameters, threads=self._threads)
            given = part.reshape(problem.input_shape)
            out = np.empty(problem.output_shape, np.float32)
            bound(given, out)
            calls[layer.name] = _call(bound, given, out)
            part = out
        return interleaved(calls)


def _call(bound: Bound, x: Float32, out: Float32) -> Any:
    return lambda: bound(x, out)


def _pick(
    network: Network, batch: int, precision: Precision, strategies: Mapping[str, str]
) -> list[_Layer]:
    problems = network.problems(batch)
    unknown = sorted(set(strategies) - {name for name, _ in problems})
    if unknown:
        raise InputError("strategies", unknown, f"layers among {[name for name, _ in problems]}")
    return [
        _Layer(
            name,
            problem,
            choose(problem, precision, strategy=strategies.get(name)),
            tuple(np.ascontiguousarray(p) for p in network.parameters_of(name)),
        )
        for name, problem in problems
    ]


def _steps(layers: Sequence[_Layer], batch: int, threads: int) -> list[_Step]:
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


def _is_kernel(layer: _Layer, threads: int) -> bool:
    """Whether the layer can share a call: a kernel that wants as many threads as the others."""
    return isinstance(layer.strategy, CpuStrategy) and (layer.strategy.parallel or threads == 1)


def _bound(layer: _Layer, threads: int) -> Bound:
    return layer.strategy.bind(layer.problem, *layer.parameters, threads=threads)


def _chains(layers: Sequence[_Layer], batch: int, threads: int) -> list[list[_Layer]]:
    """Neighbouring layers that are chained, and the others by themselves."""

    def chained(layer: _Layer) -> bool:
        weights = math.prod(layer.problem.parameter_shapes["weights"])
        # With few images the cores share each layer's work, not the images.
        return batch >= 2 * threads and weights <= _CHAINED_WEIGHTS

    parts: list[list[_Layer]] = []
    for together, run in groupby(layers, chained):
        members = list(run)
        parts += [members] if together else [[layer] for layer in members]
    return parts


def _stage(layers: Sequence[_Layer], batch: int, threads: int) -> Stage:
    """A layer; or several, a few images at a time through all: enough groups for every core."""
    group = max(1, min(_GROUP, batch // (2 * threads))) if len(layers) > 1 else batch
    links = []
    for layer in layers:
        assert isinstance(layer.strategy, CpuStrategy)
        problem = layer.problem.with_batch(group)
        kernel = layer.strategy.kernel(problem)
        links.append(Link(problem, kernel, *pack(layer.parameters, kernel)))
    image, result = links[0].image[0], links[-1].image[1]
    if len(links) == 1:
        return Stage(links[0].kernel, links[0].weights, links[0].bias, image, result)
    return Stage(*chain(links, group), image, result)


def _checked(images: Float32, shape: tuple[int, ...]) -> Float32:
    expected = f"float32 images of shape [N, {', '.join(map(str, shape))}] with N of at least 1"
    if not isinstance(images, np.ndarray):
        raise InputError("images", type(images).__name__, expected)
    if images.dtype != np.float32 or images.shape[1:] != shape or images.shape[0] < 1:
        raise InputError("images", f"{images.dtype}{list(images.shape)}", expected)
    return np.require(images, requirements=("C", "A"))


def _checked_out(out: Float32, shape: tuple[int, ...]) -> Float32:
    if not isinstance(out, np.ndarray) or out.dtype != np.float32 or out.shape != shape:
        raise InputError("out", getattr(out, "shape", type(out).__name__), f"float32{list(shape)}")
    if not (out.flags.c_contiguous and out.flags.writeable):
        raise InputError("out", "a strided or read-only array", "a writeable, contiguous one")
    return out
