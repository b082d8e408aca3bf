"""A plan on a GPU: weights resident, layers launched back to back on device memory."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property, partial
from typing import Any, cast

from rooftile.devices import cuda
from rooftile.devices.cuda.streams import is_pinned
from rooftile.devices.gpu import Description, GpuDevice
from rooftile.devices.select import lent_gpu, parse_device
from rooftile.errors import InputError
from rooftile.nn.calls_in_place import CallsInPlace
from rooftile.nn.definition import NetworkDefinition
from rooftile.nn.gpu_path import GpuPath
from rooftile.nn.image_stream import ImageStream
from rooftile.nn.numbers import Numbers
from rooftile.nn.plan import Plan, PlannedLayer
from rooftile.nn.staging import DirectCopies, PinnedCopies, Stager
from rooftile.nn.streaming import Layers, Streamer
from rooftile.ops import FORMATS, AnyArray, Chain, Precision
from rooftile.ops.problem import Array
from rooftile.runtime.arguments import ANY, Arguments
from rooftile.runtime.calls.fast_path import keep
from rooftile.runtime.selection.choice import decide_together
from rooftile.strategies.binding.executable import Executable
from rooftile.strategies.binding.scratch import Scratch
from rooftile.strategies.contract.gpu import of_launches
from rooftile.strategies.contract.machine import Multiprocessors

STREAMED_BYTES = 4 * 2**20
"""Bytes from which host arrays are cut into segments, whose copies overlap the computation."""
SEGMENT_BYTES = 8 * 2**20
"""Bytes of a segment, whose copy and computation must be long compared with the host's work for
them."""
STAGED_BYTES = 2**18
"""Bytes below which a small batch's segment is left to the driver's copy: waking a thread takes as
long."""


class GpuPlan(Plan):
    """A plan whose layers are launched back to back on device memory.

    Images in host memory are copied in and scores out: of few images through page-locked memory and
    a batch as one graph, where the device has graphs; of many in segments, whose copies overlap the
    computation. Images in the GPU's memory are read without a copy.

    Where a strategy takes the first two layers together and is faster, they are one layer of the
    plan, such as ``conv1+conv2``; naming any layer's strategy keeps them separate. ``bound`` holds
    what each of ``layers`` launches for float32. Segments have layers of their own, which are
    chosen for their number of images.
    """

    def __init__(
        self,
        network: NetworkDefinition,
        batch: int,
        precision: Precision = "ieee",
        *,
        device: str,
        strategies: Mapping[str, str] | None = None,
        prepared: bool = False,
    ) -> None:
        """See `Plan`; ``device`` is ``cuda[:N]`` or ``opencl[:N]``. Raises `DeviceMissing`,
        `CompileFailure` and `OutOfMemory` besides."""
        kind, index = parse_device(device)
        super().__init__(network, batch, precision, f"{kind}:{index}", strategies, prepared)
        if not strategies:
            self.layers = _together(self.layers, precision, self.device)
        self._gpu = lent_gpu(device)
        self._making = threading.Lock()
        self._bounds: dict[tuple[int, str, str], Executable] = {}
        self._paths: dict[str, GpuPath] = {}
        self._scratch = Scratch(self._gpu)
        self._replays: dict[str, Callable[[], object]] = {}
        self._streamers: dict[int, Streamer] = {}
        self._calls_in_place = CallsInPlace(self._cuda, batch, self.path)
        self.bound = self.path("float32").bound

    def _options(self) -> dict[str, Any]:
        return {"device": self.device, "strategies": self._asked}

    @property
    def description(self) -> Description:
        """The device and its limits."""
        return self._gpu.description

    @contextmanager
    def held(self) -> Iterator[GpuDevice]:
        """The device, made current, for a caller of `start` or of a layer of ``bound``. Calls of
        the plan with arrays in the CPU's memory wait meanwhile."""
        with self._turn, self._gpu.on():
            yield self._gpu

    def start(self, images: Any, scores: Any, count: int, dtype: str = "float32") -> None:
        """Start all layers for ``count`` images; images and scores are anywhere on the device."""
        execution = self.path(dtype).execution(count)
        execution.start((images, scores), self._scratch.of(execution.workspace.sizes))

    def starter(self, dtype: str) -> Layers:
        """`start` for images of a dtype."""
        return partial(self.start, dtype=dtype)

    @cached_property
    def stream(self) -> ImageStream:
        """For images that are to be copied while others are computed: see `ImageStream`. Raises
        `InputError` on OpenCL."""
        if self._gpu.description.kind != "cuda":
            raise InputError("device", self.device, "cuda: images stream by CUDA's copies")
        return self.stream_on(self._cuda)

    def stream_on(self, device: cuda.CudaDevice) -> ImageStream:
        """`stream` with the copies and streams of a device."""
        return ImageStream(
            device,
            self.starter,
            (self.network.input_shape, self._scores_shape),
            self.batch,
            self._turn,
            pixels="uint8" in self.dtypes,
            prepare=None if self.standardisation is None else self.standardised,
            regression=self.network.interface.regression,
        )

    @property
    def _cuda(self) -> cuda.CudaDevice:
        return cast("cuda.CudaDevice", self._gpu)

    def _in_place(self, given: Arguments[Any], images: Any, out: Any) -> Any:
        if f"cuda:{given.gpu}" != self.device:
            found = f"{given.library.title} on cuda:{given.gpu}"
            there = f", or on {self.device}, where the plan is" if "cuda" in self.device else ""
            raise InputError("images", found, f"one in the CPU's memory{there}")
        if self.standardisation is not None:
            found = f"raw features as {given.library.title} on {self.device}"
            expected = (
                "rows in the CPU's memory, which the plan standardises; or plan(prepared=True) and "
                "rows that are standardised already"
            )
            raise InputError("images", found, expected)
        library = given.library
        x = given.take("images", images, ANY, dtypes=self.dtypes, empty=True)
        self._check_shape(x.shape, x.dtype)
        shape = (x.shape[0], *self._scores_shape)
        dtype: Any = "float32" if x.dtype == "uint8" else x.dtype
        if not x.shape[0]:
            return given.nothing(x, shape, dtype, None, out)
        to = None
        if out is not None:
            to = given.take_out(out, Array("out", shape, dtype), [x])
        scores = self._calls_in_place(library, x, to, shape)
        repeat = self._calls_in_place.repeat(library, x.dtype, shape[0], shape)
        if repeat is not None:
            key = given.kind, library.own_dtype(x.dtype), x.shape
            keep(self._calls, key, repeat.repeat())
        return scores if out is None else out

    def _compute(self, images: AnyArray, scores: AnyArray) -> None:
        if max(images.nbytes, scores.nbytes) < self._most_bytes:
            super()._compute(images, scores)
            return
        image = images[:1].nbytes
        most = evenly(self.batch, max(1, min(self.batch, SEGMENT_BYTES // image)))
        segment = evenly(len(images), most)
        with self._gpu.on():
            staged = segment * image >= STAGED_BYTES and not is_pinned(images)
        self._streamer(most).run(images, segment, scores, self._stager if staged else None)

    def _run(self, images: AnyArray, scores: AnyArray) -> None:
        dtype, count = images.dtype.name, len(images)
        replay = self._replays.get(dtype) if count == self.batch else None
        with self._gpu.on():
            x, y = self._ends
            launch = partial(self.start, x, y, count, dtype)
            self._copies.run(images, x, replay or launch, y, scores)
            if count == self.batch and replay is None:
                # What a graph captures must have run before.
                self._replays[dtype] = self._gpu.captured(launch)

    @property
    def _most_bytes(self) -> float:
        """Bytes from which host arrays are streamed."""
        return STREAMED_BYTES if self._gpu.description.kind == "cuda" else math.inf

    @cached_property
    def _ends(self) -> tuple[Any, Any]:
        """Memory for the images and the scores of a batch that does not stream."""
        shapes = self.network.input_shape, self._scores_shape
        sizes = (4 * self.batch * math.prod(shape) for shape in shapes)
        x, y = (self._gpu.allocate(int(min(size, self._most_bytes))) for size in sizes)
        return x, y

    @cached_property
    def _copies(self) -> DirectCopies | PinnedCopies:
        if self._gpu.description.kind == "cuda":
            return PinnedCopies(self._cuda)
        return DirectCopies(self._gpu)

    @cached_property
    def _stager(self) -> Stager:
        return Stager(self._cuda)

    def _streamer(self, most: int) -> Streamer:
        """The streamer of segments of at most ``most`` images. Their layers are chosen for that
        number: with the tiles of a whole batch's layers a segment takes up to 1.3 times as long,
        since some multiprocessors get none."""
        found = self._streamers.get(most)
        if found is None:
            network, precision, asked = self.network, self.precision, self._asked
            plan = self
            if most < self.batch:
                plan = GpuPlan(network, most, precision, device=self.device, strategies=asked)
            results = math.prod(network.output_shape)
            found = Streamer(self._cuda, plan.starter, network.input_shape, results, labels=False)
            self._streamers[most] = found
        return found

    def path(self, dtype: str) -> GpuPath:
        """The layers for images of a dtype; compiled when first asked for. Raises `CompileFailure`,
        `OutOfMemory`."""
        path = self._paths.get(dtype)
        if path is None:
            with self._making, self._gpu.on():
                path = self._paths.get(dtype) or self._make(dtype)
        return path

    def _make(self, dtype: str) -> GpuPath:
        last = len(self.layers) - 1
        narrow = dtype in ("float16", "bfloat16")
        dtypes = ["float32", *map(self._between, range(1, last + 1)), "float32"]
        if narrow and self._runs(0, dtype, dtypes[1]):
            dtypes[0] = dtype
        if narrow and self._runs(last, dtypes[-2], dtype):
            dtypes[-1] = dtype
        reads, writes = dtypes[0] == dtype, dtypes[-1] == dtype
        bound = [self._bind(number, *dtypes[number : number + 2]) for number in range(last + 1)]
        shape = self.network.input_shape
        results = [math.prod(layer.problem.output_shape[1:]) for layer in self.layers]
        converts = dtype == "uint8" or (narrow and not reads), narrow and not writes
        numbers = None
        if any(converts):
            numbers = Numbers(self._gpu, dtype, math.prod(shape[1:]), self.network.pixels)
        path = GpuPath(self._gpu, dtype, bound, [math.prod(shape), *results], numbers, converts)
        # Other streams use what was made here.
        self._gpu.synchronise()
        self._paths[dtype] = path
        return path

    def _bind(self, number: int, reads: str, writes: str) -> Executable:
        """A layer that reads and writes these dtypes; paths with the same dtypes share it."""
        key = number, reads, writes
        if key not in self._bounds:
            layer = self.layers[number]
            self._bounds[key] = layer.strategy.bind(
                self._stored(*key), layer.parameters, self._gpu, layer.choice.config
            )
        return self._bounds[key]

    def _stored(self, number: int, reads: str, writes: str) -> Any:
        """The problem of a layer that reads and writes these dtypes."""
        problem = self.layers[number].problem
        (x,), (y,) = problem.input_arrays, problem.output_arrays
        return problem.stored(**{x.name: reads, y.name: writes})

    def _runs(self, number: int, reads: str, writes: str) -> bool:
        """True if a layer's strategy runs with these dtypes."""
        layer = self.layers[number]
        placed = of_launches(layer.strategy).on(Multiprocessors.of(self._gpu.description))
        return placed.runs(self._stored(number, reads, writes), layer.choice.config)

    def _between(self, number: int) -> str:
        """The dtype in which a layer reads what the one before writes."""
        before, after = (_format(self.layers[i]) for i in (number - 1, number))
        return after if before == after and after else "float32"


def evenly(count: int, most: int) -> int:
    """Number of images of a segment, at most ``most``: all segments are of equal length, but the
    last may be a little shorter."""
    return -(-count // -(-count // most))


def _format(layer: PlannedLayer) -> str:
    """The dtype of 16-bit numbers that a layer reads and writes; empty where it cannot."""
    narrow = layer.strategy.narrow
    return FORMATS[narrow].dtype if narrow else ""


def _together(layers: list[PlannedLayer], precision: str, device: str) -> list[PlannedLayer]:
    """The layers, the first two as one where a strategy takes both and is faster."""
    first, others = layers[:2], layers[2:]
    if len(first) < 2:
        return layers
    problem = Chain(tuple((layer.name, layer.problem) for layer in first))
    choice = decide_together(problem, precision, device)
    if choice is None:
        return layers
    name = "+".join(layer.name for layer in first)
    parameters = tuple(array for layer in first for array in layer.parameters)
    return [PlannedLayer(name, problem, choice, parameters), *others]
