"""A step's batch: gathered, varied and prepared on the device from the data set there."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooftile.devices.gpu import GpuDevice
from rooftile.nn.data import FASHION
from rooftile.nn.network import Network
from rooftile.nn.training.gpu.launches import BoundLaunches
from rooftile.nn.training.gpu.sources import StreamedSource, source_of
from rooftile.nn.training.options import TrainingOptions
from rooftile.ops import FORMATS, Precision
from rooftile.ops.formats import format_of
from rooftile.ops.layers.gather_batch import GatherBatch, resizing

_FLOAT16_RANGE = 2.0**-2, 2.0**15
"""Of the largest number that pixels become: float16 holds it, and so much smaller ones, that what
these lose is less than float32 leaves of a difference of such numbers."""


class Batches:
    """The data set, the epoch's order and variations, and the launch that gathers a batch."""

    def __init__(
        self,
        network: Network,
        data: NDArray[Any],
        labels: NDArray[Any],
        options: TrainingOptions,
        gpu: GpuDevice,
        data_memory: int | None = None,
    ) -> None:
        """``data`` are uint8, float32 or float64, ``labels`` integers or numbers for each output;
        those that are trained with. ``data_memory`` is how many bytes of the device they may take,
        see `source_of`. Raises `InputError`, `OutOfMemory`."""
        self._gpu, self._pixels = gpu, network.pixels or FASHION
        self.size = options.batch or len(data)
        """Items of a batch; an epoch's last one may have fewer."""
        self._count = len(data)
        self.steps = -(-len(data) // self.size)
        """Batches of an epoch."""
        self._shape = image_shape(network.input_shape)
        # Rows of features are images of one row, which nothing moves.
        self._old = data.shape[-2:] if data.ndim > 2 else (1, data.shape[1])
        self._shift = options.shift if data.ndim > 2 else 0
        self._floats = data.dtype != np.uint8
        self.numbers = labels.ndim == 2
        """True if targets are numbers for each output, and not labels."""
        self._words = labels.shape[1] if self.numbers else 1
        self._source = source_of(data, labels, self.size, gpu, data_memory)
        self.streamed = isinstance(self._source, StreamedSource)
        """True if the device holds a part of the data at a time, see `before`."""
        self._order, self._variation = (gpu.upload(np.zeros(len(data), np.int32)) for _ in "12")
        self._tables = [gpu.upload(table) for table in self._resizing()]

    def begin_epoch(self, order: NDArray[Any], variation: NDArray[np.int32], first: int) -> None:
        """Say which items the epoch's steps take, and how these vary, from step ``first`` on."""
        self._gpu.copy_in(self._source.begin_epoch(order, first), self._order)
        self._gpu.copy_in(variation, self._variation)

    def before(self, step: int) -> None:
        """See `Source.before`."""
        self._source.before(step)

    def may_lie(self, precision: Precision) -> str:
        """The precision in whose 16-bit numbers a network may read its input instead of float32, or
        "". That is a training's own, where it has 16 bits. TF32 has as many as float16, which lacks
        range alone: how large pixels become is known beforehand."""
        if precision != "tf32":
            return precision if format_of(precision).bytes == 2 else ""
        least, most = _FLOAT16_RANGE
        fits = not self._floats and least <= self._pixels.largest <= most
        return "fp16" if fits else ""

    def gather(
        self, work: BoundLaunches, x: Any, targets: Any, count: int, step: Any, narrow: str = ""
    ) -> None:
        """Append the launch that gathers and prepares ``count`` items of the step whose number is
        in ``step``; ``narrow`` is the precision in whose 16-bit numbers x is stored, if not in
        float32."""
        channels, height, width = self._shape
        old_height, old_width = self._old[-2:]
        problem = GatherBatch(
            count,
            self._count,
            channels,
            old_height,
            old_width,
            height,
            width,
            floats=self._floats,
            shift=self._shift,
            target_words=self._words,
            size=self.size,
        )
        if narrow:
            problem = problem.stored(x=FORMATS[narrow].dtype)
        source = self._source
        given = source.data, source.targets, self._order, self._variation, step
        work.run(problem, *given, *self._tables, x, targets)

    def _resizing(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """The first of each row's and column's two, their weights, and levels' factors."""
        channels, height, width = self._shape
        rows, columns = resizing(self._old[-2], height), resizing(self._old[-1], width)
        places = np.concatenate([rows[0], columns[0]]).astype(np.int32)
        shares = np.concatenate([rows[1], columns[1]]).astype(np.float32)
        scales = self._pixels.scales(channels)
        return places, shares, scales


def image_shape(shape: tuple[int, ...]) -> tuple[int, int, int]:
    """Channels, height and width of what a network reads; of features, one row of them."""
    channels, height, width = shape if len(shape) == 3 else (1, 1, *shape)
    return channels, height, width
