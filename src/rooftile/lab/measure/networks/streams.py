"""The time of a stream of images by two clocks, and its parts."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rooftile.nn.image_stream import ImageStream
from rooftile.nn.segments import least_apart
from rooftile.nn.streaming import Images
from rooftile.runtime.timing.device import SLACK_S, contradiction, enough
from rooftile.runtime.timing.host import Timing, timing_of

WARM_UP_S, _SECONDS = 0.2, 1.0
"""Streams run for the first time untimed, and are timed for about the second."""
_PARTS_DIFFER = 0.1
"""The times of a part by itself and within the whole differ by less than this share."""

Sample = tuple[float, float]
"""Seconds of one stream by the device's clock and by the host's."""


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
    """The contradiction of the clocks, or of the parts and the whole; empty where there is none."""

    def to_json(self) -> dict[str, Any]:
        """The times in milliseconds; none where clocks contradict each other."""
        return {
            "segments": self.segments,
            "time_ms": quantiles(self.device),
            "host_ms": quantiles(self.host),
            "copy_in_ms": self.copy_in_ms,
            "compute_ms": self.compute_ms,
            "copy_out_ms": self.copy_out_ms,
            "hidden": self.hidden,
            "contradiction": self.contradiction,
        }

    @property
    def parts_ms(self) -> float:
        """The sum of the parts' times."""
        return self.copy_in_ms + self.compute_ms + self.copy_out_ms

    @property
    def hidden(self) -> float | None:
        """The share of the shorter parts that the longest one hides. It is 0 where the parts run
        one after the other, 1 where only the longest is seen."""
        if self.device is None:
            return None
        longest = max(self.copy_in_ms, self.compute_ms, self.copy_out_ms)
        return (self.parts_ms - self.device.median) / (self.parts_ms - longest)


def time_stream(
    stream: ImageStream, images: Images, *, segments: int | None = None
) -> StreamTiming:
    """Time ``stream.classify`` from the first copy to the last result.  Raises its errors."""
    with stream.held(images, segments) as (streamer, held, segment):

        def run() -> Sample:
            start = time.perf_counter()
            marks = streamer.run(held, segment)
            host = time.perf_counter() - start
            return 1e-3 * streamer.device.between(marks.first, marks.last), host

        samples = sampled(run)
        parts = least_apart(streamer, held, segment)
    wrong = contradicted(samples, parts)
    device, host = (timing_of(list(times)) for times in zip(*samples, strict=True))
    return StreamTiming(
        len(held),
        -(-len(held) // segment),
        None if wrong else device,
        None if wrong else host,
        *parts,
        wrong,
    )


def quantiles(timing: Timing | None) -> dict[str, Any] | None:
    """A timing as JSON has it."""
    if timing is None:
        return None
    return {name: getattr(timing, name) for name in ("median", "p20", "p80", "min", "n")}


def sampled(run: Callable[[], Sample]) -> list[Sample]:
    """Samples of whole streams until the noise is low, or for about a second."""
    end = time.perf_counter() + WARM_UP_S
    while time.perf_counter() < end:
        run()
    samples: list[Sample] = []
    end = time.perf_counter() + _SECONDS
    while not enough([device for device, _ in samples], late=time.perf_counter() > end):
        samples.append(run())
    return samples


def contradicted(samples: list[Sample], parts: tuple[float, float, float]) -> str:
    """The contradiction of the clocks, or of the parts' milliseconds and the whole; empty where
    there is none."""
    wrong = contradiction(samples, SLACK_S)
    if wrong:
        return wrong
    median = 1e3 * float(np.median([device for device, _ in samples]))
    missing = (1 - _PARTS_DIFFER) * max(parts) - median
    if missing > 0:
        return f"the whole took {missing:.3g} ms less than its longest part by itself"
    return ""
