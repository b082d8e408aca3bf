"""A plan on a GPU: weights resident, layers launched back to back on device memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from rooftile.devices import cuda
from rooftile.devices.gpu import Description
from rooftile.devices.select import open_gpu, parse_device
from rooftile.dispatch import choose_together
from rooftile.errors import InputError
from rooftile.lab.measure import Timing
from rooftile.lab.measure_gpu import Flush, Work, in_turns, work_of
from rooftile.lab.winners import tuned_config
from rooftile.nn.image_stream import ImageStream
from rooftile.nn.plan import Plan, PlannedLayer
from rooftile.ops import Chain, Float32, Precision
from rooftile.strategies.gpu import GpuBound, GpuStrategy

if TYPE_CHECKING:
    from rooftile.nn.network import Network


class GpuPlan(Plan):
    """A plan that copies images in and scores out once a batch.

    A whole batch is launched as one graph, where the device has graphs.  Where a strategy takes
    the first two layers together and is faster, they are one layer of the plan, such as
    ``conv1+conv2``; naming any layer's strategy keeps them apart.
    """

    def __init__(
        self,
        network: Network,
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
            self._bound = [self._bind(number) for number in range(len(self.layers))]
            self._arrays = self._allocate()
        self._replay: Callable[[], object] | None = None

    @property
    def description(self) -> Description:
        """The device and its limits."""
        return self._gpu.description

    def profile(self, images: Float32) -> dict[str, Timing]:
        """See `Plan.profile`: by the device's clock, on data in its memory that may be cached."""
        part = self.checked(images)[: self.batch]
        with self._turn, self._gpu.on():
            # Arrays of its own for each layer: it is timed on what the one before gives.  They are
            # held here, since a graph that was captured does not hold them.
            shapes = [layer.problem.output_shape for layer in self.layers]
            arrays = [self._gpu.allocate(4 * math.prod(shape)) for shape in shapes]
            arrays.insert(0, self._gpu.upload(part))
            flush, works = Flush(self._gpu), {}
            for layer, bound, x, out in zip(
                self.layers, self._bound, arrays, arrays[1:], strict=False
            ):
                launch = partial(bound.launch, x, out, len(part))
                launch()
                works[layer.name] = work_of(self._gpu, launch, flush)
            return {name: timing.warm for name, timing in in_turns(works).items()}

    def device_time(self, images: Float32) -> Timing:
        """Time all layers on the first batch of ``images`` by the device's clock, in milliseconds,
        the copies to and from the device left out."""
        images = self.checked(images)
        with self._turn, self._gpu.on():
            return in_turns({"": self._work(images, Flush(self._gpu))})[""].warm

    def contestant(self, images: Float32, flush: Flush) -> tuple[Work, Callable[[], Float32]]:
        """What `in_turns` times beside others: all layers on the first batch of ``images``, as for
        `device_time`; and a call that gives the scores that this very work leaves in poisoned
        memory.  Both until the plan is called again."""
        part = self.checked(images)[: self.batch]
        with self._turn, self._gpu.on():
            work = self._work(part, flush)

        def computed() -> Float32:
            scores = np.full((len(part), *self.network.output_shape), np.nan, np.float32)
            with self._turn, self._gpu.on():
                self._gpu.copy_in(scores, self._arrays[-1])
                work.once()
                self._gpu.copy_out(self._arrays[-1], scores)
            return scores

        return work, computed

    def _work(self, images: Float32, flush: Flush) -> Work:
        part = images[: self.batch]
        self._gpu.copy_in(part, self._arrays[0])
        launch = partial(self._launch, len(part))
        launch()
        return work_of(self._gpu, launch, flush)

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
        return ImageStream(device, self._start, shapes, self.batch, images, self._turn)

    def _run(self, images: Float32, scores: Float32) -> None:
        with self._gpu.on():
            self._gpu.copy_in(images, self._arrays[0])
            if len(images) < self.batch:
                self._launch(len(images))
            elif self._replay is None:
                # What a graph captures must have run before.
                self._launch(self.batch)
                self._replay = self._gpu.captured(partial(self._launch, self.batch))
            else:
                self._replay()
            self._gpu.copy_out(self._arrays[-1], scores)

    def _launch(self, count: int) -> None:
        """Start all layers for so many images, which lie in the first array."""
        self._start(self._arrays[0], self._arrays[-1], count)

    def _start(self, images: Any, scores: Any, count: int) -> None:
        """The same with images and scores that lie anywhere on the device."""
        arrays = [images, *self._arrays[1:-1], scores]
        for bound, x, out in zip(self._bound, arrays, arrays[1:], strict=False):
            bound.launch(x, out, count)

    def _bind(self, number: int) -> GpuBound:
        layer = self.layers[number]
        assert isinstance(layer.strategy, GpuStrategy)
        config = dict(tuned_config(layer.strategy, layer.problem, self._gpu.description) or {})
        if layer.strategy.narrow:
            config |= {"X_NARROW": self._narrow(number), "OUT_NARROW": self._narrow(number + 1)}
        return layer.strategy.bind(
            layer.problem, *layer.parameters, device=self._gpu, config=config
        )

    def _narrow(self, number: int) -> int:
        """Whether what a layer is given lies in memory in 16-bit numbers: both sides can."""
        if not 0 < number < len(self.layers):
            return 0
        giver, taker = (self.layers[i].strategy for i in (number - 1, number))
        assert isinstance(giver, GpuStrategy)
        assert isinstance(taker, GpuStrategy)
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
    return [PlannedLayer(name, problem, strategy, parameters), *others]
