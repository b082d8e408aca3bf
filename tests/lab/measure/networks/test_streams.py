"""A stream's times: they add up, and clocks that contradict each other give none."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

import rooftile
from rooftile.lab.measure.networks import streams
from rooftile.lab.measure.networks.streams import StreamTiming, contradicted, time_stream
from rooftile.nn.image_stream import ImageStream
from rooftile.runtime.timing import device as device_timing
from rooftile.runtime.timing.host import timing_of
from tests.support import lazy_cuda
from tests.support.lazy_cuda import lazily  # noqa: F401
from tests.support.stream_cases import SMALL, streamed


def lazy_stream(seconds):
    """A stream on a device by whose clock everything takes so many seconds."""
    device = lazy_cuda.Device(np.random.default_rng(0), lambda what, size: seconds)
    shapes, turn = ((1, 3, 5), (4,)), contextlib.nullcontext()
    return ImageStream(device, lambda dtype: lambda *_: None, shapes, 12, turn)


def test_a_device_that_tells_nonsense_gives_no_time(monkeypatch):
    monkeypatch.setattr(device_timing, "MOST_SAMPLES", 3)
    monkeypatch.setattr(streams, "WARM_UP_S", 0.0)
    images = np.random.default_rng(0).integers(0, 256, (12, 3, 5), np.uint8)
    for seconds, words in ((1e3, "further apart"), (1e-9, "")):
        timing = time_stream(lazy_stream(seconds), images, segments=3)
        assert timing.segments == 3
        assert words in timing.contradiction
        assert (timing.device is None) == bool(timing.contradiction)
        assert (timing.hidden is None) == bool(timing.contradiction)


@pytest.mark.parametrize(
    ("device", "host", "parts", "words"),
    [
        (1.4, 1.45, (1.33, 0.4, 0.01), ""),
        (1.4, 2.5, (1.33, 0.4, 0.01), "longer than its stream's marks"),
        (1.4, 1.2, (1.33, 0.4, 0.01), "further apart"),
        (1.0, 1.05, (1.33, 0.4, 0.01), "longest part"),
    ],
)
def test_contradictions_are_told(device, host, parts, words):
    found = contradicted([(1e-3 * device, 1e-3 * host)] * 2, parts)
    assert (words in found) if words else (found == "")


def test_what_is_hidden_is_a_share_of_the_shorter_parts():
    timing = timing_of([1.5e-3])
    made = StreamTiming(10, 2, timing, timing, 1.0, 0.8, 0.2, "")
    assert made.parts_ms == pytest.approx(2.0)
    assert made.hidden == pytest.approx(0.5)


def test_a_timing_adds_up(device, monkeypatch):
    monkeypatch.setattr(device_timing, "MOST_SAMPLES", 3)
    with streamed(SMALL, 2000, device) as (_, stream):
        images = stream.pinned((2000, 20, 18))
        images[...] = 3
        timing = time_stream(stream, images)
        # Of so many images each that fewer segments may do.
        assert 1 <= timing.segments <= stream.segments(images)
        assert min(timing.copy_in_ms, timing.compute_ms, timing.copy_out_ms) > 0
        if device.description.kind == "cuda":
            assert timing.contradiction == ""
            assert 0 < timing.device.median <= 1.02 * timing.host.median


@pytest.mark.parametrize(
    "bad", [np.zeros((9, 5, 18), np.uint8), np.zeros((0, 20, 18), np.uint8), [[1]]]
)
def test_wrong_images_are_refused_by_name(bad):
    with pytest.raises(rooftile.InputError, match="images"):
        time_stream(lazy_stream(1e-9), bad)
