"""An addition of arrays in page-locked memory, in segments, by the order of its copies.

Copies in both directions and the addition of different segments can overlap where several streams
share the segments.  In which order the host hands them over matters where the device takes copies
from one queue:

- ``one stream``: nothing overlaps; what the others are compared with;
- ``depth first``: everything of a segment, then everything of the next.  A copy out waits for its
  addition, and in one queue the copies in of the next segment wait behind it;
- ``breadth first``: the copies in of a round of segments, one of each stream, then their
  additions, then their copies out.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., section 20.5
(overlapping of copies and computation).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from rooftile.devices.cuda import CudaDevice
from rooftile.devices.cuda.streams import pinned
from rooftile.errors import InputError, VerificationFailure, unknown
from rooftile.ops.checks import check_positive
from rooftile.ops.patterns.elementwise import Elementwise
from rooftile.runtime.timing.host import Timing, timing_of
from rooftile.strategies import strategy
from rooftile.strategies.contract.gpu import of_launches

Order = Literal["one stream", "depth first", "breadth first"]
ORDERS: tuple[Order, ...] = get_args(Order)
_WARM_UP, _SAMPLES = 2, 9
_STRATEGY = "vectors"
_ARRAYS = ("x", "y", "out")


@dataclass(frozen=True)
class Part:
    """A unit of work that the host hands over: the copies in of a segment, its addition, or its
    copy out."""

    what: Literal["in", "add", "out"]
    segment: int
    stream: int


@dataclass(frozen=True)
class Streamed:
    """Milliseconds of an order, from the first copy to the last."""

    order: Order
    device: Timing
    """By the device's events."""
    host: Timing


def schedule(order: Order, segments: int, streams: int) -> Iterator[Part]:
    """The parts in the order in which they are handed over.  Raises `InputError`."""
    if order not in ORDERS:
        raise unknown("order", order, ORDERS)
    check_positive(segments=segments, streams=streams)
    used = 1 if order == "one stream" else streams
    at_once = used if order == "breadth first" else 1
    for first in range(0, segments, at_once):
        for what in ("in", "add", "out"):
            for segment in range(first, min(first + at_once, segments)):
                yield Part(what, segment, segment % used)


class StreamedAdd:
    """``out = x + y`` on a GPU, all in page-locked memory of its own."""

    def __init__(self, device: CudaDevice, count: int, segment: int, streams: int = 3) -> None:
        """``count`` is a multiple of ``segment``.  Raises `InputError`, `CompileFailure`,
        `OutOfMemory`."""
        check_positive(count=count, segment=segment, streams=streams)
        if count % segment:
            raise InputError("count", count, f"a multiple of the segment's {segment} elements")
        problem = Elementwise("add", (segment,))
        rung = of_launches(strategy("elementwise", _STRATEGY, device.kind))
        self.device, self._segment, self._segments = device, segment, count // segment
        with device.on():
            compiled = rung.compile(problem, device)
            self._add = device.launches(compiled.steps(None), _ARRAYS)
            self._streams = [device.stream() for _ in range(streams)]
            # Within a stream the next segment's copies come after the last one has left the slot.
            self._slots = [
                {name: device.allocate(4 * segment) for name in _ARRAYS} for _ in range(streams)
            ]
            self.x, self.y, self.out = (pinned(device, (count,), np.float32) for _ in range(3))
            # The slots were allocated in the order of one stream: now they are there for all.
            device.synchronise()
        generator = np.random.default_rng(0)
        self.x[:] = generator.standard_normal(count, np.float32)
        self.y[:] = generator.standard_normal(count, np.float32)

    def run(self, order: Order) -> tuple[float, float]:
        """Add everything once: seconds by the device's clock, and by the host's."""
        parts = list(schedule(order, self._segments, len(self._streams)))
        with self.device.on():
            self.device.synchronise()
            begun = time.perf_counter()
            first = self._streams[0].mark()
            for stream in self._streams[1:]:
                stream.after(first)
            for part in parts:
                self._hand_over(part)
            last = [stream.mark() for stream in self._streams]
            self.device.synchronise()
            host = time.perf_counter() - begun
            return 1e-3 * max(self.device.between(first, mark) for mark in last), host

    def _hand_over(self, part: Part) -> None:
        stream, slot = self._streams[part.stream], self._slots[part.stream]
        at = slice(part.segment * self._segment, (part.segment + 1) * self._segment)
        if part.what == "in":
            stream.copy_in(self.x[at], slot["x"])
            stream.copy_in(self.y[at], slot["y"])
        elif part.what == "out":
            stream.copy_out(slot["out"], self.out[at])
        else:
            self._add.start([slot[name] for name in _ARRAYS], stream.address)

    def check(self) -> None:
        """Raise `VerificationFailure` unless the sums of the last run are NumPy's."""
        expected = self.x + self.y
        wrong = np.flatnonzero(self.out != expected)
        if wrong.size:
            at = int(wrong[0])
            raise VerificationFailure((at,), float(self.out[at]), float(expected[at]), 0.0)


def time_orders(
    device: CudaDevice, count: int, segment: int, streams: int = 3
) -> tuple[Streamed, ...]:
    """Every order, verified and timed in turns.

    Raises `VerificationFailure`, and the errors of `StreamedAdd`.
    """
    work = StreamedAdd(device, count, segment, streams)
    samples: dict[Order, list[tuple[float, float]]] = {order: [] for order in ORDERS}
    for number in range(_WARM_UP + _SAMPLES):
        for order, found in samples.items():
            work.out[:] = np.nan
            taken = work.run(order)
            if number < _WARM_UP:
                work.check()
            else:
                found.append(taken)
    made = []
    for order, found in samples.items():
        by_device, by_host = (timing_of(list(times)) for times in zip(*found, strict=True))
        made.append(Streamed(order, by_device, by_host))
    return tuple(made)


__all__ = ["ORDERS", "Order", "Part", "Streamed", "StreamedAdd", "schedule", "time_orders"]
