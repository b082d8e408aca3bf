"""Images from host memory to labels, with copies in both directions during the computation.

The images are cut into segments. Three streams share the work: one copies images in, the device's
own runs the layers and finds the labels, one copies results out. Segments take turns in three slots
of device memory, so that while one is computed the next arrives and the last one leaves. Events
order the streams; the host waits once, at the end. A whole segment is one graph launch, captured
for each slot; a shorter last segment is launched kernel by kernel.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooftile.devices.cuda import CudaDevice
from rooftile.devices.cuda.event import Event
from rooftile.devices.cuda.streams import pinned
from rooftile.errors import InputError
from rooftile.nn.staging import AsTheyLie, Stager
from rooftile.ops import AnyArray
from rooftile.ops.layers.most_likely import MostLikely
from rooftile.runtime.calls.single import single

SLOTS = 3
"""One is being filled, one computed, one emptied."""
_MOST_RESULT_BYTES = 2**26
"""Results of more bytes go straight to the caller's memory instead of through page-locked one."""
_MOST_CAPTURED = 8
"""Lengths and dtypes of segments whose graphs are kept."""

Images = AnyArray
Layers = Callable[[Any, Any, int], None]
"""Starts all layers on the present stream: images and scores in device memory, how many."""
Starter = Callable[[str], Layers]
"""The layers for images of a dtype."""
Replays = list[Callable[[], object]]


@dataclass(frozen=True)
class Marks:
    """The begin and end of a stream of images, in the device's time."""

    first: Any
    """Before the first copy."""
    last: Any
    """After the last result has arrived."""


@dataclass(frozen=True)
class _Slot:
    """Device memory of one segment, and how far the streams are with it."""

    images: Any
    scores: Any
    labels: Any
    arrived: Event
    computed: Event
    returned: Event
    """Once its results are out, the slot is no longer read."""


class Streamer:
    """Streams images of one shape through layers; its calls must take turns."""

    def __init__(
        self,
        device: CudaDevice,
        layers: Starter,
        shape: tuple[int, ...],
        classes: int,
        *,
        labels: bool = True,
        pixels: bool = True,
    ) -> None:
        """``labels``: whether it finds them; ``pixels``: whether ``layers`` take uint8. Raises
        `CompileFailure`, `OutOfMemory`."""
        self.device, self._layers, self._shape, self._classes = device, layers, shape, classes
        self._finds_labels, self._takes_pixels = labels, pixels
        self._pixels = math.prod(shape)
        with device.on():
            self._inward, self._outward = device.stream(), device.stream()
        self._slots: list[_Slot] = []
        self._sizes = (0, 0)
        self._replays: dict[tuple[np.dtype[Any], int], Replays] = {}
        self._labels = np.empty(0, np.int64)
        self._scores = np.empty(0, np.uint8)

    def checked(self, images: Images) -> Images:
        """Contiguous images of a dtype and shape that it takes.  Raises `InputError`."""
        shapes = [self._shape, *([self._shape[1:]] if self._shape[0] == 1 else [])]
        kinds = "uint8 or float32" if self._takes_pixels else "float32"
        expected = f"{kinds} images [N, {', '.join(map(str, self._shape))}], N at least 1"
        if not isinstance(images, np.ndarray):
            raise InputError("images", type(images).__name__, expected)
        pixels = self._takes_pixels and images.dtype == np.uint8 and images.shape[1:] in shapes
        numbers = images.dtype == np.float32 and images.shape[1:] == self._shape
        if not (pixels or numbers) or images.shape[0] < 1:
            raise InputError("images", f"{images.dtype}{list(images.shape)}", expected)
        return np.require(images, requirements=("C", "A"))

    def run(
        self,
        images: Images,
        segment: int,
        scores: AnyArray | None = None,
        stager: Stager | None = None,
    ) -> Marks:
        """Stream all images, ``segment`` at a time, and wait for the last result. The labels are
        then in `labels`, and the scores in ``scores`` where it is given. A ``stager`` copies images
        to page-locked memory that are elsewhere."""
        replays = self._prepare(images.dtype, segment)
        labels, kept = self._results(len(images), scores)
        device, inward, outward = self.device, self._inward, self._outward
        parts = list(self._parts(images, segment))
        lie = [part for _, part, _ in parts]
        with device.on():
            own = device.stream_address
            source = stager.filled(lie) if stager else AsTheyLie(lie)
            try:
                first = inward.mark()
                for number, (turn, part, at) in enumerate(parts):
                    slot = self._slots[turn]
                    if number >= SLOTS:
                        slot.returned.delay(inward.address)
                    begin = 0
                    for piece in source.next():
                        inward.copy_in(piece, slot.images, begin)
                        begin += piece.nbytes
                    slot.arrived.record(inward.address)
                    slot.arrived.delay(own)
                    self._compute(slot, replays[turn], part, segment)
                    slot.computed.record(own)
                    slot.computed.delay(outward.address)
                    if self._finds_labels:
                        outward.copy_out(slot.labels, labels[at])
                    if kept is not None:
                        outward.copy_out(slot.scores, kept[at])
                    slot.returned.record(outward.address)
                    source.sent(slot.arrived)
                last = outward.mark()
                outward.synchronise()
            except BaseException:
                # The caller may free the images, so no copy may still read them.
                device.synchronise()
                raise
        if scores is not None and kept is not scores:
            scores[...] = kept
        return Marks(first, last)

    def labels(self, count: int) -> NDArray[np.int64]:
        """A copy of the labels that the last run found."""
        return self._labels[:count].copy()

    def apart(self, images: Images, segment: int) -> tuple[float, float, float]:
        """Milliseconds by the device's clock that the parts of `run` take where nothing overlaps
        them: the copies in, the computation, the copies out of the labels."""
        replays = self._prepare(images.dtype, segment)
        labels, _ = self._results(len(images), None)
        inward, outward = self._inward, self._outward
        parts = list(self._parts(images, segment))
        with self.device.on():
            first = inward.mark()
            for turn, part, _ in parts:
                inward.copy_in(part, self._slots[turn].images)
            copied = inward.mark()
            self.device.synchronise()
            begun = self.device.mark()
            for turn, part, _ in parts:
                self._compute(self._slots[turn], replays[turn], part, segment)
            computed = self.device.mark()
            self.device.synchronise()
            leaving = outward.mark()
            for turn, _, at in parts:
                outward.copy_out(self._slots[turn].labels, labels[at])
            last = outward.mark()
            self.device.synchronise()
        between = self.device.between
        return between(first, copied), between(begun, computed), between(leaving, last)

    def _parts(self, images: Images, segment: int) -> Iterator[tuple[int, Images, slice]]:
        """Each segment's slot, images and place."""
        for number, start in enumerate(range(0, len(images), segment)):
            at = slice(start, start + segment)
            yield number % SLOTS, images[at], at

    def _compute(
        self, slot: _Slot, replay: Callable[[], object], part: Images, segment: int
    ) -> None:
        if len(part) == segment:
            replay()
        else:
            self._start(slot, part.dtype, len(part))

    def _start(self, slot: _Slot, dtype: np.dtype[Any], count: int) -> None:
        """Start everything from a slot's images to its labels."""
        self._layers(dtype.name)(slot.images, slot.scores, count)
        if self._finds_labels:
            found = single(self.device, MostLikely(count, self._classes), slot.scores, slot.labels)
            self.device.launches([found], ()).start(())

    def _prepare(self, dtype: np.dtype[Any], segment: int) -> Replays:
        """A graph for each slot, captured once for a dtype and length of segments."""
        if (dtype, segment) in self._replays:
            return self._replays[dtype, segment]
        with self.device.on():
            sizes = (segment * self._pixels * dtype.itemsize, segment)
            if any(asked > held for asked, held in zip(sizes, self._sizes, strict=True)):
                self._slots, self._replays, self._sizes = [], {}, (0, 0)
                self._slots = [self._slot(*sizes) for _ in range(SLOTS)]
                self._sizes = sizes
            # A graph can capture only what has run before.  The slots were allocated in the order
            # of one stream: once the device is idle, they are there for the others too.
            self._start(self._slots[0], dtype, segment)
            self.device.synchronise()
            starts = [partial(self._start, slot, dtype, segment) for slot in self._slots]
            if len(self._replays) >= _MOST_CAPTURED:
                self._replays = {}
            replays = [self.device.captured(start) for start in starts]
        self._replays[dtype, segment] = replays
        return replays

    def _slot(self, nbytes: int, count: int) -> _Slot:
        sizes = (nbytes, 4 * count * self._classes, 8 * count)
        memory = (self.device.allocate(size) for size in sizes)
        return _Slot(*memory, *(self.device.event() for _ in range(3)))

    def _results(
        self, count: int, scores: AnyArray | None
    ) -> tuple[NDArray[np.int64], AnyArray | None]:
        """Page-locked memory for results: a copy into any other keeps the host waiting."""
        with self.device.on():
            if self._finds_labels and len(self._labels) < count:
                self._labels = pinned(self.device, (count,), np.int64)
            if scores is None or scores.nbytes > _MOST_RESULT_BYTES:
                return self._labels[:count], scores
            if self._scores.nbytes < scores.nbytes:
                self._scores = pinned(self.device, (scores.nbytes,), np.uint8)
        kept = self._scores[: scores.nbytes].view(scores.dtype).reshape(scores.shape)
        return self._labels[:count], kept
