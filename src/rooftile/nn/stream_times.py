"""How long a stream of images takes, what it is made of, and into how many segments it is cut."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rooftile.analysis.transfers import Pipeline
from rooftile.lab.measure import Timing, is_steady, timing_of
from rooftile.nn.streaming import Images, Streamer

_PIECES = 8
"""Segments that rates are measured on."""
_TINY = 24
"""Segments of one image that a segment's own cost is measured on."""
_REPEATS = 5
_AROUND = (1 / 4, 1 / 3, 1 / 2, 2 / 3, 1, 3 / 2)
"""Shares of the model's number of segments that are tried."""
_WARM_UP_S = 0.2
_LEAST_SAMPLES, _MOST_SAMPLES, _SECONDS = 20, 200, 1.0
_SLACK_MS = 0.2
"""Host time beyond the device's that is no contradiction; and 10 %."""
_CLOCKS_DIFFER = 0.02
_PARTS_DIFFER = 0.1
"""A part by itself and within the whole differ by less than this share."""


@dataclass(frozen=True)
class StreamTiming:
    """Times of streaming ``images`` images in ``segments`` segments, in milliseconds."""

    images: int
    segments: int
    device: Timing | None
    """From before the first copy until the last result has arrived, by the device's events.
    None where clocks contradict each other."""
    host: Timing | None
    """From before the first copy is handed over until the host knows of the last result."""
    copy_in_ms: float
    compute_ms: float
    copy_out_ms: float
    """The parts, each by itself, without what overlaps it."""
    contradiction: str
    """How the clocks contradict each other, or the parts the whole; empty where they do not."""

    @property
    def parts_ms(self) -> float:
        """What the parts take one after the other."""
        return self.copy_in_ms + self.compute_ms + self.copy_out_ms

    @property
    def hidden(self) -> float | None:
        """The share of the shorter parts that the longest one hides: 0 one after the other, 1
        where only the longest is seen."""
        if self.device is None:
            return None
        longest = max(self.copy_in_ms, self.compute_ms, self.copy_out_ms)
        return (self.parts_ms - self.device.median) / (self.parts_ms - longest)


def measured_model(streamer: Streamer, images: Images) -> Pipeline:
    """The stages for one image, from segments of some of ``images`` and of a single one.

    The overhead of a segment is what one of a single image takes by the host's clock, the
    handing over included.
    """
    piece = -(-len(images) // _PIECES)
    tiny = images[:_TINY]
    parts = _apart(streamer, images, piece)
    one = _apart(streamer, tiny, 1)[1] / len(tiny)
    streamer.run(tiny, 1)
    overhead = min(_host_seconds(lambda: streamer.run(tiny, 1)) for _ in range(_REPEATS))
    # What does not grow with the segment is the overhead's.
    count, pieces = len(images), -(-len(images) // piece)
    growing = max(0.0, parts[1] - pieces * one) / max(1, count - pieces)
    return Pipeline(
        in_s=1e-3 * parts[0] / count,
        compute_s=1e-3 * growing,
        out_s=1e-3 * parts[2] / count,
        overhead_s=overhead / len(tiny),
    )


def for_images(model: Pipeline, count: int) -> Pipeline:
    """The stages of so many images from those of one."""
    return Pipeline(
        count * model.in_s, count * model.compute_s, count * model.out_s, model.overhead_s
    )


def best_segments(model: Pipeline, count: int, longest: int) -> int:
    """The fewest segments of least time by the model, each of 1 to ``longest`` images."""
    least, most = -(-count // longest), count
    # The time falls to its least and then rises, so the nearest that is allowed is the best.
    return min(most, max(least, model.best_segments()[0]))


def fastest_segments(streamer: Streamer, images: Images, guess: int, longest: int) -> int:
    """Of numbers of segments around a guess the one whose streams take the least time: what
    streams wait for each other no model knows."""
    least, most = -(-len(images) // longest), len(images)
    tried = sorted({min(most, max(least, round(guess * share))) for share in _AROUND})
    return min(tried, key=lambda segments: _seconds(streamer, images, -(-most // segments)))


def _seconds(streamer: Streamer, images: Images, segment: int) -> float:
    """Of the device's clock, the median of a few streams."""
    streamer.run(images, segment)
    marks = [streamer.run(images, segment) for _ in range(_REPEATS)]
    return float(np.median([streamer.device.between(m.first, m.last) for m in marks]))


def time_stream(streamer: Streamer, images: Images, segment: int) -> StreamTiming:
    """Time whole streams until the noise is low, or for about a second."""
    end = time.perf_counter() + _WARM_UP_S
    while time.perf_counter() < end:
        streamer.run(images, segment)
    device: list[float] = []
    host: list[float] = []
    end = time.perf_counter() + _SECONDS
    while not _done(device, end):
        start = time.perf_counter()
        marks = streamer.run(images, segment)
        host.append(time.perf_counter() - start)
        device.append(1e-3 * streamer.device.between(marks.first, marks.last))
    parts = _apart(streamer, images, segment)
    wrong = contradiction(1e3 * np.array(device), 1e3 * np.array(host), parts)
    return StreamTiming(
        len(images), -(-len(images) // segment),
        None if wrong else timing_of(device), None if wrong else timing_of(host), *parts, wrong,
    )  # fmt: skip


def contradiction(
    device: NDArray[np.float64], host: NDArray[np.float64], parts: tuple[float, float, float]
) -> str:
    """Why the samples of both clocks, in milliseconds, cannot be true; empty where they can."""
    unseen = float((host - 1.1 * device).min()) - _SLACK_MS
    if unseen > 0:
        return f"the host waited {unseen:.3g} ms longer than the device's events say"
    impossible = float((device - (1 + _CLOCKS_DIFFER) * host).min())
    if impossible > 0:
        return f"the device's events are {impossible:.3g} ms further apart than the host saw"
    short = (1 - _PARTS_DIFFER) * max(parts) - float(np.median(device))
    if short > 0:
        return f"the whole took {short:.3g} ms less than its longest part by itself"
    return ""


def _done(samples: list[float], end: float) -> bool:
    count = len(samples)
    late = time.perf_counter() > end and count >= 3
    return late or count >= _MOST_SAMPLES or (count >= _LEAST_SAMPLES and is_steady(samples))


def _apart(streamer: Streamer, images: Images, segment: int) -> tuple[float, float, float]:
    """The least of some: what disturbs one part by itself is not of the stream."""
    times = [streamer.apart(images, segment) for _ in range(_REPEATS)]
    copy_in, compute, copy_out = (min(column) for column in zip(*times, strict=True))
    return copy_in, compute, copy_out


def _host_seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start
