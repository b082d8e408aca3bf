"""What stays on the device for a whole run: data, parameters, the optimiser's memory."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooftile.devices.gpu import GpuDevice, Launch
from rooftile.devices.launches import Call
from rooftile.nn.data import FASHION
from rooftile.nn.data.images import resizing
from rooftile.nn.network import Network
from rooftile.nn.training.gpu.memory import Layout
from rooftile.nn.training.optimisers import LOSS_SCALE
from rooftile.nn.training.options import TrainingOptions
from rooftile.ops import Precision
from rooftile.strategies.common.grid import PORTABLE_SHARED_BYTES

_THREADS = 256
_MANY_IMAGES = 512
_MEMORIES = {"sgd": ("velocity",), "adam": ("mean", "square")}
"""The memories of each optimiser, as a checkpoint names them."""
SQUARE_DECAY, _EPSILON = 0.999, 1e-8
"""Those of `Adam`: what its mean square keeps, and what keeps its root from zero."""


class Resident:
    """The data, everything that a step reads and changes, and the launches that touch it."""

    def __init__(
        self,
        network: Network,
        data: NDArray[Any],
        labels: NDArray[Any],
        options: TrainingOptions,
        gpu: GpuDevice,
        precision: Precision = "ieee",
    ) -> None:
        """``data`` are uint8, float32 or float64, ``labels`` integers or numbers for each output;
        those that are trained with.

        Raises `OutOfMemory`, `CompileFailure`.
        """
        self.gpu, self.precision, self.options = gpu, precision, options
        self._network, self.batch = network, options.batch or len(data)
        self.layout = Layout(network.parameter_shapes)
        self.memories = _MEMORIES[options.optimiser]
        self.arrays = {
            name: gpu.upload(np.zeros(self.layout.count, np.float32))
            for name in ("parameters", "gradients", *self.memories)
        }
        self._shape, self._shift = image_shape(network.input_shape), options.shift
        # Rows of features are images of one row, which nothing moves.
        self._old = data.shape[-2:] if data.ndim > 2 else (1, data.shape[1])
        if data.ndim == 2:
            self._shift = 0
        if data.dtype != np.uint8:
            data = data.astype(np.float32, copy=False)
        self._data = gpu.upload(np.ascontiguousarray(data))
        self.numbers = labels.ndim == 2
        """Whether targets are numbers for each output, and not labels."""
        self._words = labels.shape[1] if self.numbers else 1
        kind = np.float32 if self.numbers else np.int32
        self._labels = gpu.upload(np.ascontiguousarray(labels, kind))
        self._floats = data.dtype != np.uint8
        steps = -(-len(data) // self.batch)
        self._order, self._variation = (gpu.upload(np.zeros(len(data), np.int32)) for _ in "12")
        self._rates = gpu.upload(np.zeros((steps, 4), np.float32))
        self.losses = gpu.upload(np.zeros(steps, np.float32))
        self.step = gpu.upload(np.zeros(1, np.int32))
        first = np.array([LOSS_SCALE, 0], np.float32)
        self.scaling = gpu.upload(first) if precision == "fp16" else None
        """What the loss is multiplied by, and how many steps it has been."""
        self._overflowed = gpu.upload(np.zeros(1, np.int32))
        self._tables = [gpu.upload(table) for table in self._resizing()]
        momentum = options.momentum
        self._updates = gpu.compile(
            _text("update"),
            {
                "DECAYED": self.layout.decayed,
                "MOMENTUM": f"{momentum!r}f",
                "MEAN_SHARE": f"{float(np.float32(1 - momentum))!r}f",
                "SQUARE_SHARE": f"{float(np.float32(1 - SQUARE_DECAY))!r}f",
                "EPSILON": f"{_EPSILON!r}f",
                "SCALED": int(self.scaling is not None),
            },
        )

    def begin_epoch(
        self,
        order: NDArray[Any],
        variation: NDArray[np.int32],
        rates: NDArray[np.float32],
        step: int,
    ) -> None:
        """Say what the epoch's steps are to do, and which one is next."""
        for array, to in (
            (order.astype(np.int32), self._order),
            (variation, self._variation),
            (np.ascontiguousarray(rates, np.float32), self._rates),
            (np.full(1, step, np.int32), self.step),
        ):
            self.gpu.copy_in(array, to)

    def load(self, name: str, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Copy parameters, or a memory by parameters' keys, to the device."""
        self.gpu.copy_in(self.layout.packed(arrays), self.arrays[name])

    def fetch(self, name: str, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Copy them from the device."""
        whole = np.empty(self.layout.count, np.float32)
        self.gpu.copy_out(self.arrays[name], whole)
        self.layout.unpack(whole, arrays)

    def fetched_losses(self, steps: int) -> NDArray[np.float32]:
        """The mean losses of the epoch's first steps; waits for them."""
        losses = np.empty(steps, np.float32)
        self.gpu.copy_out(self.losses, losses)
        return losses

    @property
    def when(self) -> tuple[Any, Any]:
        """The rates of the epoch's steps, and the number of the next."""
        return self._rates, self.step

    def parameter(self, layer: str, kind: str) -> Any:
        """A parameter's memory."""
        return self.layout.part(self.gpu, self.arrays["parameters"], f"{layer}.{kind}")

    def gradient(self, layer: str, kind: str) -> Any:
        """Its gradient's memory."""
        return self.layout.part(self.gpu, self.arrays["gradients"], f"{layer}.{kind}")

    def gather(self, x: Any, labels: Any, count: int) -> Call:
        """The launch that gathers and prepares the next images."""
        channels, height, width = self._shape
        sizes = {"CHANNELS": channels, "HEIGHT": height, "WIDTH": width}
        old = {"OLD_HEIGHT": self._old[-2], "OLD_WIDTH": self._old[-1]}
        macros = {**sizes, **old, "BATCH": self.batch, "SHIFT": self._shift}
        resized = self._old != (height, width) and not self._floats
        staged = resized and 4 * math.prod(self._old) <= PORTABLE_SHARED_BYTES
        macros |= {"FLOATS": int(self._floats), "STAGED": int(staged), "WORDS": self._words}
        program = self.gpu.compile(_text("batch"), macros)
        given = self._data, self._labels, self._order, self._variation, self.step
        # Blocks enough for small batches; larger ones stage each image fewer times.
        parts = min(-(-height * width // _THREADS), 8 if count < _MANY_IMAGES else 2)
        grid = (count * channels, parts, 1)
        launch = Launch("gather", grid, (_THREADS, 1, 1))
        return Call(program, launch, (*given, *self._tables, x, labels))

    def scaled(self, dz: Any, count: int) -> tuple[Call, ...]:
        """The launch that scales the gradient of the loss, where that is done."""
        if self.scaling is None:
            return ()
        return (self._over("scale", count, dz, self.scaling),)

    def update(self, loss: Any, count: int) -> tuple[Call, ...]:
        """The launches that change the parameters and note the loss."""
        elements = self.layout.count
        state = () if self.scaling is None else (self.scaling, self._overflowed)
        look = [self._over("look", elements, self.arrays["gradients"], self._overflowed)]
        arrays = (*self.arrays.values(), self._rates, self.step, *state)
        note = Launch("note", (1, 1, 1), (_THREADS, 1, 1))
        noted = (loss, self.losses, self.step, *state, np.int32(count))
        return (
            *(look if state else ()),
            self._over(self.options.optimiser, elements, *arrays),
            Call(self._updates, note, noted),
        )

    def _over(self, kernel: str, elements: int, *arrays: Any) -> Call:
        """A launch with a thread for each element."""
        launch = Launch(kernel, (-(-elements // _THREADS), 1, 1), (_THREADS, 1, 1))
        return Call(self._updates, launch, (*arrays, np.int32(elements)))

    def kept(self) -> list[tuple[Any, NDArray[Any]]]:
        """Copies of all that a step changes for good."""
        gpu, found = self.gpu, list[tuple[Any, NDArray[Any]]]()
        for memory in self.arrays.values():
            found.append((memory, np.empty(self.layout.count, np.float32)))
        found.append((self.step, np.empty(1, np.int32)))
        if self.scaling is not None:
            found.append((self.scaling, np.empty(2, np.float32)))
        for memory, copy in found:
            gpu.copy_out(memory, copy)
        return found

    def put_back(self, kept: list[tuple[Any, NDArray[Any]]]) -> None:
        """Undo what steps have changed since."""
        for memory, copy in kept:
            self.gpu.copy_in(copy, memory)

    def _resizing(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """The first of each row's and column's two, their weights, and levels' factors."""
        channels, height, width = self._shape
        rows, columns = resizing(self._old[-2], height), resizing(self._old[-1], width)
        places = np.concatenate([rows[0], columns[0]]).astype(np.int32)
        shares = np.concatenate([rows[1], columns[1]]).astype(np.float32)
        scales = (self._network.pixels or FASHION).scales(channels)
        return places, shares, scales


def image_shape(shape: tuple[int, ...]) -> tuple[int, int, int]:
    """Channels, height and width of what a network reads; of features, one row of them."""
    channels, height, width = shape if len(shape) == 3 else (1, 1, *shape)
    return channels, height, width


def _text(name: str) -> str:
    return Path(__file__).with_name(f"{name}.cu").read_text(encoding="utf-8")
