"""A plan's stream: its labels and scores from any host memory, in any segments, by threads."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rooftile
from rooftile.nn import ConvLayer, Network, load
from rooftile.nn.data import load_images, prepare, resize
from tests.support.stream_cases import SMALL, streamed


def test_opencl_is_refused(opencl_device):
    plan: Any = SMALL.plan(batch=4, device="opencl")
    with pytest.raises(rooftile.InputError, match="CUDA's copies"):
        plan.stream.pinned((1, 1))


@pytest.mark.parametrize("model", ["lenet5", "mnist8"])
def test_labels_are_those_of_the_prepared_images(model, device):
    network = load(model)
    count, batch = (700, 300) if device.description.gpu else (5, 2)
    size = network.input_shape[1]
    images = resize(load_images("test", limit=count).images, size)
    x = prepare(images, size)
    expected = network.predict(x)
    with streamed(network, batch, device) as (_, stream):
        held = stream.pinned(images.shape)
        held[...] = images
        arrays, numbers = (held, images, images[:, None], x), (None, 3, 7, count - 1, 5000)
        pairs = itertools.product(arrays, numbers)
        if not device.description.gpu:
            # A classification takes a second there: each array once, and one number of segments
            # that is larger than the number of images.
            pairs = zip(arrays, (None, 3, count - 1, 5000), strict=True)
        for array, segments in pairs:
            found = stream.classify(array, segments=segments)
            np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(held, images)


@pytest.mark.parametrize("count", [1, 5, 64, 131])
def test_scores_of_any_number_of_images(count, device):
    x = np.random.default_rng(count).standard_normal((count, *SMALL.input_shape), np.float32)
    with streamed(SMALL, 64, device) as (plan, stream):
        expected = plan(x)
        for segments in (None, 3, 10, count):
            scores = np.full((count, 7), np.nan, np.float32)
            labels = stream.classify(x, segments=segments, scores=scores)
            np.testing.assert_array_equal(scores, expected)
            np.testing.assert_array_equal(labels, expected.argmax(axis=1))
        np.testing.assert_array_equal(plan(x), expected)


def test_threads_take_turns(device):
    rng = np.random.default_rng(0)
    x = [rng.integers(0, 256, (100 + k, 20, 18), np.uint8) for k in range(2)]
    results: dict[int, list[Any]] = {0: [], 1: []}
    with streamed(SMALL, 32, device) as (_, stream):
        expected = [stream.classify(part, segments=9) for part in x]
        share(stream.classify, x, results)
    for k in (0, 1):
        assert len(results[k]) == 4
        for labels in results[k]:
            np.testing.assert_array_equal(labels, expected[k])


def share(classify: Callable[..., Any], x: list[Any], results: dict[int, list[Any]]) -> None:
    """Two threads, each with its own images."""

    def work(k: int) -> None:
        for segments in (None, 4, 9, 50):
            results[k].append(classify(x[k], segments=segments))

    workers = [threading.Thread(target=work, args=(k,)) for k in (0, 1)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def test_wrong_arguments_are_refused_by_name(device):
    images = np.zeros((100, 20, 18), np.uint8)
    with streamed(SMALL, 32, device) as (_, stream):
        for wrong in (0, 3, -1):
            with pytest.raises(rooftile.InputError, match="segments"):
                stream.classify(images, segments=wrong)
        for scores in (np.zeros((100, 6), np.float32), np.zeros((7, 100), np.float32).T):
            with pytest.raises(rooftile.InputError, match="scores"):
                stream.classify(images, scores=scores)
        for bad in (images[:, :5], images[:0], images.astype(np.float32)):
            for call in (stream.classify, stream.model, stream.segments):
                with pytest.raises(rooftile.InputError, match="images"):
                    call(bad)


def test_results_that_are_images_have_no_labels(device):
    network = Network("conv", (1, 8, 8), (ConvLayer("conv1", 2, 3),)).initialise(0)
    refusal = pytest.raises(rooftile.InputError, match="score for each class")
    with refusal, streamed(network, 4, device):
        pass
