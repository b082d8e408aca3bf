"""Into how many segments a stream of images is cut.

A model of the stream is measured, which says a number; of the numbers around it the fastest is
taken, since no model knows how streams wait for each other.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from rooftile.analysis.transfers import Pipeline
from rooftile.nn.streaming import Images, Streamer

_PIECES = 8
"""Number of segments on which the rates of copies and of computation are measured."""
_TINY = 24
"""Number of segments of one image on which a segment's own cost is measured."""
_REPEATS = 5
"""Each of these measurements is made so often."""
_AROUND = (1 / 4, 1 / 3, 1 / 2, 2 / 3, 1, 3 / 2)
"""Shares of the model's number of segments that are tried."""


def measured_model(streamer: Streamer, images: Images) -> Pipeline:
    """The stages of one image, measured on segments of many images and of a single one.

    The overhead of a segment is the time of one with a single image by the host's clock, which
    includes handing it over.
    """
    piece = -(-len(images) // _PIECES)
    tiny = images[:_TINY]
    parts = least_apart(streamer, images, piece)
    one = least_apart(streamer, tiny, 1)[1] / len(tiny)
    streamer.run(tiny, 1)
    overhead = min(_host_seconds(lambda: streamer.run(tiny, 1)) for _ in range(_REPEATS))
    # What does not grow with the segment belongs to the overhead.
    count, pieces = len(images), -(-len(images) // piece)
    growing = max(0.0, parts[1] - pieces * one) / max(1, count - pieces)
    return Pipeline(
        in_s=1e-3 * parts[0] / count,
        compute_s=1e-3 * growing,
        out_s=1e-3 * parts[2] / count,
        overhead_s=overhead / len(tiny),
    )


def for_images(model: Pipeline, count: int) -> Pipeline:
    """The stages of ``count`` images from one image's."""
    return Pipeline(
        count * model.in_s, count * model.compute_s, count * model.out_s, model.overhead_s
    )


def best_segments(model: Pipeline, count: int, longest: int) -> int:
    """The fewest segments of least time by the model, each of 1 to ``longest`` images."""
    least, most = -(-count // longest), count
    # The time falls to its least and then rises, so the nearest that is allowed is the best.
    return min(most, max(least, model.best_segments()[0]))


def fastest_segments(streamer: Streamer, images: Images, guess: int, longest: int) -> int:
    """The number of segments, among some around a guess, whose streams take the least time."""
    least, most = -(-len(images) // longest), len(images)
    tried = sorted({min(most, max(least, round(guess * share))) for share in _AROUND})
    return min(tried, key=lambda segments: _seconds(streamer, images, -(-most // segments)))


def _seconds(streamer: Streamer, images: Images, segment: int) -> float:
    """The median of a few streams by the device's clock."""
    streamer.run(images, segment)
    marks = [streamer.run(images, segment) for _ in range(_REPEATS)]
    return float(np.median([streamer.device.between(m.first, m.last) for m in marks]))


def least_apart(streamer: Streamer, images: Images, segment: int) -> tuple[float, float, float]:
    """Milliseconds of the parts, each by itself: the least of some measurements, since what
    disturbs one is no part of the stream."""
    times = [streamer.apart(images, segment) for _ in range(_REPEATS)]
    copy_in, compute, copy_out = (min(column) for column in zip(*times, strict=True))
    return copy_in, compute, copy_out


def _host_seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start
