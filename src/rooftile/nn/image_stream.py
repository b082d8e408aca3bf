"""The stream of a plan on an NVIDIA GPU, for images in host memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooftile.analysis.transfers import Pipeline
from rooftile.devices.cuda import CudaDevice
from rooftile.devices.cuda.streams import is_pinned, pinned
from rooftile.errors import InputError
from rooftile.nn.plan import checked_out
from rooftile.nn.segments import best_segments, fastest_segments, for_images, measured_model
from rooftile.nn.streaming import Images, Starter, Streamer
from rooftile.ops import AnyArray, Float32
from rooftile.ops.checks import check_positive


class ImageStream:
    """Classifies images from host memory: copies in, computation and copies out overlap.

    Images are float32[N, channels, height, width], or, where the network's ``pixels`` say how they
    become numbers, uint8 of the same size, which do so on the device, the same to the bit as on
    the host; with one channel, its axis may be missing from uint8.  They stream at full speed
    from `pinned` memory; from any other the driver copies through memory of its own.

    They are cut into ``segments`` of at most the plan's batch.  The default number is found at
    the first call with a dtype, kind of memory and size (`rooftile.nn.segments`); how segments
    stream is told in `rooftile.nn.streaming`.  Calls take turns with the plan's.
    """

    def __init__(
        self,
        device: CudaDevice,
        layers: Starter,
        shapes: tuple[tuple[int, ...], tuple[int, ...]],
        batch: int,
        turn: AbstractContextManager[Any],
        *,
        pixels: bool = True,
        prepare: Callable[[AnyArray], AnyArray] | None = None,
        regression: bool = False,
    ) -> None:
        """``shapes`` are of an image and of its scores; ``prepare`` makes of raw numbers what the
        layers read; outputs of a ``regression`` are no scores.  The rest is as for `Streamer`."""
        (shape, scores), self._batch, self._turn = shapes, batch, turn
        if len(scores) != 1:
            raise InputError("network", f"results {list(scores)}", "one score for each class")
        self._classes, self._prepare, self._regression = scores[0], prepare, regression
        with turn:
            self._streamer = Streamer(device, layers, shape, self._classes, pixels=pixels)
        self._models: dict[tuple[object, ...], Pipeline] = {}
        self._lengths: dict[tuple[object, ...], int] = {}

    def pinned(self, shape: tuple[int, ...], dtype: Any = np.uint8) -> NDArray[Any]:
        """An array in page-locked host memory, its values undefined."""
        with self._turn, self._streamer.device.on():
            return pinned(self._streamer.device, shape, dtype)

    def classify(
        self, images: Images, *, segments: int | None = None, scores: Float32 | None = None
    ) -> NDArray[np.int64]:
        """The class of each image, int64[N]: 1 where the only score is above one half, else that of
        the largest score.  Images of numbers are standardised on the host first, where the network
        has a ``standardisation``.

        ``scores`` takes float32[N, classes] where it is given.  More segments than images are as
        many as images.  Raises `InputError`, also for a network of a regression, and `OutOfMemory`.
        """
        if self._regression:
            expected = "a classification; plan(images) gives the outputs of a regression"
            raise InputError("network", "a regression, whose outputs are no classes", expected)
        if self._prepare is not None and isinstance(images, np.ndarray):
            images = self._prepare(images)
        images = self._streamer.checked(images)
        if scores is not None:
            checked_out(scores, (len(images), self._classes), name="scores")
        with self.held(images, segments) as (streamer, images, segment):
            streamer.run(images, segment, scores)
            return streamer.labels(len(images))

    @contextmanager
    def held(
        self, images: Images, segments: int | None = None
    ) -> Iterator[tuple[Streamer, Images, int]]:
        """A streamer, contiguous images, and the images of a segment, for `classify`. Calls of the
        stream and of its plan wait meanwhile. Raises `InputError`, `OutOfMemory`."""
        images = self._streamer.checked(images)
        with self._turn:
            yield self._streamer, images, self._segment(images, segments)

    def model(self, images: Images) -> Pipeline:
        """The measured stages that the number of segments follows from, in seconds."""
        images = self._streamer.checked(images)
        with self._turn:
            return self._model(images)

    def segments(self, images: Images) -> int:
        """The default number of segments."""
        images = self._streamer.checked(images)
        with self._turn:
            return -(-len(images) // self._length(images))

    def _segment(self, images: Images, segments: int | None) -> int:
        count = len(images)
        if segments is None:
            return self._length(images)
        check_positive(segments=segments)
        segment = -(-count // segments)
        if segment > self._batch:
            least = -(-count // self._batch)
            raise InputError(
                "segments", segments, f"at least {least}: {count} images, {self._batch} a batch"
            )
        return segment

    def _length(self, images: Images) -> int:
        """Images of a segment of the fastest stream of a batch, or of all where they are fewer."""
        key, some = self._kind(images), images[: self._batch]
        if key not in self._lengths:
            guess = best_segments(self._model(some), len(some), self._batch)
            segments = fastest_segments(self._streamer, some, guess, self._batch)
            self._lengths[key] = -(-len(some) // segments)
        return min(self._lengths[key], len(images))

    def _model(self, images: Images) -> Pipeline:
        key = self._kind(images)
        if key not in self._models:
            self._models[key] = measured_model(self._streamer, images[: self._batch])
        return for_images(self._models[key], len(images))

    def _kind(self, images: Images) -> tuple[object, ...]:
        """The class of images with equal rates: small copies are slower, and the driver's own
        copies too."""
        with self._streamer.device.on():
            page_locked = is_pinned(images)
        return images.dtype, page_locked, min(len(images), self._batch).bit_length()
