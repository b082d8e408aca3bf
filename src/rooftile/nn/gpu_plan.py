"""A plan on a GPU: weights resident, layers launched back to back on device memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property, partial
from typing import Any, cast

from rooftile.devices import cuda
from rooftile.devices.gpu import Description, GpuDevice
from rooftile.devices.select import open_gpu, parse_device
from rooftile.errors import InputError
from rooftile.nn.definition import NetworkDefinition
from rooftile.nn.image_stream import ImageStream
from rooftile.nn.plan import Plan, PlannedLayer
from rooftile.ops import Chain, Float32, Precision
from rooftile.runtime.choice import Choice, choose_together
from rooftile.strategies import Bound


class GpuPlan(Plan):
    """A plan that copies images in and scores out once a batch.

    A whole batch is launched as one graph, where the device has graphs.  Where a strategy takes
    the first two layers together and is faster, they are one layer of the plan, such as
    ``conv1+conv2``; naming any layer's strategy keeps them apart.  ``bound`` holds what each of
    ``layers`` launches.
    """

    def __init__(
        self,
        network: NetworkDefinition,
        batch: int,
        precision: Precision = "ieee",
        *,
        device: str,
        strategies: Mapping[str, str] | None = None,
    ) -> None:
        """See `Plan`; ``device`` is ``cuda[:N]`` or ``opencl[:N]``.

        Raises `DeviceMissing`, `CompileFailure` and `OutOfMemory` besides.
        """
        kind, index = parse_device(device)
        super().__init__(network, batch, precision, f"{kind}:{index}", strategies)
        if not strategies:
            self.layers = _together(self.layers, precision, self.device)
        with cuda.kept_context():
            self._gpu = open_gpu(device)
        with self._gpu.on():
            self.bound = [self._bind(number) for number in range(len(self.layers))]
            self._arrays = self._allocate()
        self._replay: Callable[[], object] | None = None

    @property
    def description(self) -> Description:
        """The device and its limits."""
        return self._gpu.description

    @contextmanager
    def held(self) -> Iterator[GpuDevice]:
        """The device, made current: for whoever calls `start` or a layer of ``bound``.  Calls of
        the plan wait meanwhile."""
        with self._turn, self._gpu.on():
            yield self._gpu

    def start(self, images: Any, scores: Any, count: int) -> None:
        """Start all layers for so many images; images and scores lie anywhere on the device."""
        arrays = [images, *self._arrays[1:-1], scores]
        for bound, x, out in zip(self.bound, arrays, arrays[1:], strict=False):
            bound.launch((x, out), count)

    @cached_property
    def stream(self) -> ImageStream:
        """For images that are to be copied while others are computed: see `ImageStream`.

        Raises `InputError` on OpenCL.
        """
        if self._gpu.description.kind != "cuda":
            raise InputError("device", self.device, "cuda: images stream by CUDA's copies")
        device = cast("cuda.CudaDevice", self._gpu)
        shapes = (self.network.input_shape, self.network.output_shape)
        images = self._arrays[0]
        return ImageStream(device, self.start, shapes, self.batch, images, self._turn)

    def _run(self, images: Float32, scores: Float32) -> None:
        launch = partial(self.start, self._arrays[0], self._arrays[-1])
        with self._gpu.on():
            self._gpu.copy_in(images, self._arrays[0])
            if len(images) < self.batch:
                launch(len(images))
            elif self._replay is None:
                # What a graph captures must have run before.
                launch(self.batch)
                self._replay = self._gpu.captured(partial(launch, self.batch))
            else:
                self._replay()
            self._gpu.copy_out(self._arrays[-1], scores)

    def _bind(self, number: int) -> Bound:
        layer = self.layers[number]
        config = dict(layer.choice.config or {})
        if layer.strategy.narrow:
            config |= {"X_NARROW": self._narrow(number), "OUT_NARROW": self._narrow(number + 1)}
        bound: Bound = layer.strategy.bind(layer.problem, layer.parameters, self._gpu, config)
        return bound

    def _narrow(self, number: int) -> int:
        """Whether (0 or 1) a layer reads 16-bit numbers: the one before writes the same format."""
        if not 0 < number < len(self.layers):
            return 0
        giver, taker = (self.layers[i].strategy for i in (number - 1, number))
        return int(bool(giver.narrow) and giver.narrow == taker.narrow)

    def _allocate(self) -> list[Any]:
        """The images' array, then each layer's result: two arrays in turns hold all of them."""
        results = [4 * math.prod(layer.problem.output_shape) for layer in self.layers]
        turns = [self._gpu.allocate(max(results[turn::2], default=0)) for turn in range(2)]
        images = self._gpu.allocate(4 * math.prod(self.layers[0].problem.input_shape))
        return [images, *(turns[number % 2] for number in range(len(results)))]


def _together(layers: list[PlannedLayer], precision: str, device: str) -> list[PlannedLayer]:
    """The layers, the first two as one where a strategy takes both and is faster."""
    first, others = layers[:2], layers[2:]
    if len(first) < 2:
        return layers
    problem = Chain(tuple((layer.name, layer.problem) for layer in first))
    strategy = choose_together(problem, precision, device)
    if strategy is None:
        return layers
    name = "+".join(layer.name for layer in first)
    parameters = tuple(array for layer in first for array in layer.parameters)
    return [PlannedLayer(name, problem, Choice(strategy, problem, device), parameters), *others]
