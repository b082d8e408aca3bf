"""Streams: right in whatever order the device works, overlapped, cut by the model, refused."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rooftile
from rooftile.analysis.transfers import Pipeline
from rooftile.nn import staging
from rooftile.nn.data import prepare
from rooftile.nn.segments import best_segments, fastest_segments, for_images, measured_model
from rooftile.nn.staging import Stager
from rooftile.nn.streaming import SLOTS, Marks, Streamer
from tests.support import lazy_cuda
from tests.support.lazy_cuda import lazily  # noqa: F401

SHAPE, CLASSES, LONGEST = (1, 3, 5), 4, 12


def streamer_on(device: Any, **options: Any) -> Streamer:
    """Scores are the first pixels' numbers, by way of memory that all segments share."""
    between = np.zeros(LONGEST * CLASSES, np.float32)

    def layers(dtype: str, x: Any, scores: Any, count: int) -> None:
        pixels = int(np.prod(SHAPE))

        def first() -> None:
            given = x.view(dtype)[: count * pixels].reshape(count, *SHAPE)
            numbers = prepare_any(given) if dtype == "uint8" else given
            between[: count * CLASSES] = numbers.reshape(count, pixels)[:, :CLASSES].ravel()

        def second() -> None:
            scores.view(np.float32)[: count * CLASSES] = between[: count * CLASSES]

        device.start(first)
        device.start(second)

    starter = functools.partial(functools.partial, layers)
    return Streamer(device, starter, SHAPE, CLASSES, **options)


def random_images(count: int, dtype: Any, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    if dtype is np.uint8:
        return rng.integers(0, 256, (count, *SHAPE[1:]), np.uint8)
    return rng.standard_normal((count, *SHAPE), np.float32)


def expected_scores(images: Any) -> Any:
    numbers = prepare_any(images) if images.dtype == np.uint8 else images
    return numbers.reshape(len(images), -1)[:, :CLASSES]


def prepare_any(images: Any) -> Any:
    """As `prepare` does; its images are square."""
    return prepare(images.reshape(-1, 1, 1), 1).reshape(len(images), *SHAPE)


@settings(max_examples=80)
@given(
    count=st.integers(1, 30), segment=st.integers(1, LONGEST),
    dtype=st.sampled_from([np.uint8, np.float32]), seed=st.integers(0, 2**32 - 1),
)  # fmt: skip
def test_right_in_any_order_that_the_streams_allow(count, segment, dtype, seed):
    device = lazy_cuda.Device(np.random.default_rng(seed))
    streamer = streamer_on(device)
    for turn in range(2):
        images = random_images(count, dtype, seed + turn)
        scores = np.full((count, CLASSES), np.nan, np.float32)
        streamer.run(images, segment, scores)
        labels = streamer.labels(count)
        np.testing.assert_array_equal(scores, expected_scores(images))
        np.testing.assert_array_equal(labels, expected_scores(images).argmax(axis=1))


@settings(max_examples=60)
@given(
    count=st.integers(1, 40), segment=st.integers(1, LONGEST), threads=st.integers(1, 4),
    piece=st.integers(1, 4), dtype=st.sampled_from([np.uint8, np.float32]),
    seed=st.integers(0, 2**32 - 1),
)  # fmt: skip
def test_staged_images_are_right_in_any_order(count, segment, threads, piece, dtype, seed):
    """Buffers are filled again only when the copy out of them is done; pieces of some images."""
    device = lazy_cuda.Device(np.random.default_rng(seed))
    streamer, stager = streamer_on(device, labels=False), Stager(device, threads)
    with pytest.MonkeyPatch.context() as patch:
        for turn in range(2):
            images = random_images(count, dtype, seed + turn)
            patch.setattr(staging, "PIECE_BYTES", piece * images[0].nbytes)
            scores = np.full((count, CLASSES), np.nan, np.float32)
            streamer.run(images, segment, scores, stager)
            np.testing.assert_array_equal(scores, expected_scores(images))


def test_staging_without_waiting_for_the_copies_is_wrong(monkeypatch):
    monkeypatch.setattr(lazy_cuda.Op, "sync", lambda op: None)
    wrong = 0
    for seed in range(20):
        device = lazy_cuda.Device(np.random.default_rng(seed))
        streamer, images = streamer_on(device, labels=False), random_images(40, np.float32, seed)
        scores = np.empty((40, CLASSES), np.float32)
        streamer.run(images, 2, scores, Stager(device, 1))
        wrong += not np.array_equal(scores, expected_scores(images))
    assert wrong > 10


def test_a_failing_copy_leaves_the_next_run_right(monkeypatch):
    device = lazy_cuda.Device(np.random.default_rng(0))
    streamer, stager = streamer_on(device, labels=False), Stager(device, 2)
    images = random_images(40, np.float32)
    streamer._prepare(images.dtype, 2)
    monkeypatch.setattr(streamer._inward, "copy_in", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        streamer.run(images, 2, None, stager)
    monkeypatch.undo()
    scores = np.empty((40, CLASSES), np.float32)
    streamer.run(images, 2, scores, stager)
    np.testing.assert_array_equal(scores, expected_scores(images))


@pytest.mark.parametrize("dropped", ["inward", "own", "outward"])
def test_without_any_one_kind_of_wait_it_is_wrong(dropped, monkeypatch):
    wrong = 0
    for seed in range(40):
        device = lazy_cuda.Device(np.random.default_rng(seed))
        streamer = streamer_on(device)
        images = random_images(30, np.uint8, seed)
        streamer._prepare(images.dtype, 3)
        names = {"own": device.own, "inward": streamer._inward, "outward": streamer._outward}
        monkeypatch.setattr(names[dropped], "after", lambda mark: None)
        streamer.run(images, 3)
        wrong += not np.array_equal(streamer.labels(30), expected_scores(images).argmax(axis=1))
    assert wrong > 10


def test_a_graph_a_segment_and_one_wait_at_the_end():
    device = lazy_cuda.Device(np.random.default_rng(0))
    streamer = streamer_on(device)
    images = random_images(29, np.uint8)
    streamer.run(images, 5)
    device.log.clear()
    device.waits_of_the_host = 0
    streamer.run(images, 5)
    kinds = [op.what for op in device.log]
    assert device.waits_of_the_host == 1
    assert (kinds.count("copy in"), kinds.count("graph"), kinds.count("copy out")) == (6, 5, 6)
    # The last segment is shorter: two layers, labels.
    assert kinds.count("kernel") == 3
    assert len({op.stream for op in device.log}) == SLOTS == 3


RATES = st.floats(0.01, 10.0)


def costs(model: Pipeline, count: int) -> Any:
    """Of a device whose stages take what the model says."""
    size = {"copy in": model.in_s / (15 * count), "copy out": model.out_s / (8 * count)}

    def cost(what: str, nbytes: int) -> float:
        return size.get(what, 0.0) * nbytes

    return cost


@settings(max_examples=60)
@given(RATES, RATES, RATES, st.floats(0.001, 1.0), st.sampled_from([1, 2, 3, 4, 6, 12, 24]))
def test_streams_take_the_time_of_the_model(in_s, compute_s, out_s, overhead_s, segments):
    """Three slots are enough: no stage waits for a slot where the model has it work."""
    count = 24
    model = Pipeline(in_s, compute_s, out_s, overhead_s)
    copies = costs(model, count)

    def cost(what: str, size: int) -> float:
        return overhead_s + compute_s / segments if what == "graph" else copies(what, size)

    device = lazy_cuda.Device(np.random.default_rng(0), cost)
    streamer = Streamer(device, lambda dtype: lambda *_: None, SHAPE, CLASSES)
    marks = streamer.run(random_images(count, np.uint8), count // segments)
    # All streams are idle before the second one.
    begin = max(op.end for op in device.log)
    for stream in device.streams.values():
        stream.add("mark").end = begin
    marks = streamer.run(random_images(count, np.uint8), count // segments)
    took = 1e-3 * device.between(marks.first, marks.last)
    assert took == pytest.approx(model.seconds(segments))


@settings(max_examples=300)
@given(RATES, RATES, RATES, st.floats(0.001, 2.0), st.integers(1, 400), st.integers(1, 400))
def test_the_models_choice_is_the_best_of_all(in_s, compute_s, out_s, overhead_s, count, longest):
    model = Pipeline(in_s, compute_s, out_s, overhead_s)
    allowed = [n for n in range(1, count + 1) if -(-count // n) <= longest]
    least = min(model.seconds(n) for n in allowed)
    chosen = best_segments(model, count, longest)
    assert chosen in allowed
    assert model.seconds(chosen) == pytest.approx(least, rel=1e-12)


def test_the_model_is_measured_from_the_stages():
    """On a device of known costs the copies' rates come out exactly."""
    rates = {"copy in": 3e-6, "copy out": 5e-7}
    device = lazy_cuda.Device(
        np.random.default_rng(0),
        lambda what, size: rates.get(what, 1e-4 * (what == "graph")) * (size or 1),
    )
    streamer = streamer_on(device)
    model = measured_model(streamer, random_images(LONGEST, np.uint8))
    assert model.in_s == pytest.approx(15 * 3e-6)
    assert model.out_s == pytest.approx(8 * 5e-7)
    assert model.overhead_s > 0
    whole = for_images(model, 100)
    assert whole.in_s == pytest.approx(100 * model.in_s)
    assert whole.overhead_s == model.overhead_s


class Counted:
    """A streamer whose streams are fastest in so many segments."""

    def __init__(self, best):
        self.best, self.device, self.tried = best, self, set()

    def run(self, images, segment):
        segments = -(-len(images) // segment)
        self.tried.add(segments)
        return Marks(0.0, abs(segments - self.best))

    def between(self, first, last):
        return last - first


@pytest.mark.parametrize(
    ("count", "guess", "best", "longest", "found"),
    [
        (10_000, 24, 11, 10_000, 12), (10_000, 24, 99, 10_000, 36), (10_000, 24, 1, 2000, 6),
        (10_000, 1, 1, 10_000, 1), (10_000, 24, 1, 1000, 10), (5, 24, 5, 5, 5),
    ],
)  # fmt: skip
def test_numbers_around_the_models_are_tried(count, guess, best, longest, found):
    streamer = Counted(best)
    segments = fastest_segments(streamer, range(count), guess, longest)
    assert segments == found
    assert all(-(-count // longest) <= tried <= count for tried in streamer.tried)


@pytest.mark.parametrize(
    "bad",
    [
        np.zeros((3, 3, 5), np.float32), np.zeros((3, 2, 5), np.uint8), np.zeros((3, *SHAPE)),
        np.zeros((0, *SHAPE), np.uint8), np.zeros((0, *SHAPE), np.float32), [[1]],
        np.zeros((3, *SHAPE), np.int8), np.uint8(3),
    ],
)  # fmt: skip
def test_wrong_images_are_refused_by_name(bad):
    streamer = streamer_on(lazy_cuda.Device(np.random.default_rng(0)))
    with pytest.raises(rooftile.InputError, match="images"):
        streamer.checked(bad)
