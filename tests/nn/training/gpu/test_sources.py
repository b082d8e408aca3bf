"""Data sets that are streamed to a device: the bits of one that lies there."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooftile.errors import InputError
from rooftile.nn import LinearLayer, Network
from rooftile.nn.data import FASHION
from rooftile.nn.training import TrainingOptions, train
from rooftile.nn.training.gpu.sources import StreamedSource, source_of

pytestmark = pytest.mark.filterwarnings("ignore::rooftile.TrainingWarning")
"""Nothing is to be learnt from random labels, and a training says so."""

IMAGES = np.random.default_rng(1).integers(0, 256, (53, 6, 7), np.uint8)
LABELS = np.random.default_rng(2).integers(0, 3, 53)
OPTIONS = TrainingOptions(epochs=2, batch=6, flip=True, optimizer="sgd", seed=5)
SEEN = Network(
    "small",
    (1, 6, 7),
    (LinearLayer("a", 5, activation="tanh"), LinearLayer("b", 3)),
    pixels=FASHION,
)
BATCHES = 2 * 6 * (6 * 7 + 4)
"""The bytes of two."""


def same_bits(one, other):
    return all(
        value.tobytes() == other.parameters[k].tobytes() for k, value in one.parameters.items()
    )


def test_images_of_a_file_are_streamed_stopped_and_resumed(device, tmp_path):
    place = device.description.device
    whole = train(SEEN, IMAGES, LABELS, OPTIONS, device=place)
    np.save(tmp_path / "images.npy", IMAGES)
    mapped = np.load(tmp_path / "images.npy", mmap_mode="r")
    streamed = {"device": place, "data_memory": 2 * BATCHES, "checkpoint": tmp_path / "c"}

    def stop(progress):
        if (progress.epoch, progress.step) == (2, 4):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(SEEN, mapped, LABELS, OPTIONS, progress=stop, **streamed)
    assert same_bits(whole, train(SEEN, mapped, LABELS, OPTIONS, resume=True, **streamed))


def test_features_and_wanted_numbers_are_streamed_too(device):
    place = device.description.device
    generator = np.random.default_rng(3)
    rows, wanted = generator.standard_normal((41, 5)), generator.standard_normal((41, 2))
    net = Network([LinearLayer("a", 4, "relu"), LinearLayer("b", 2)], 5)
    options = dataclasses.replace(OPTIONS, loss="squared_error")
    whole = train(net, rows, wanted, options, device=place)
    few = train(net, rows, wanted, options, device=place, data_memory=2 * 6 * 28)
    assert same_bits(whole, few)


def test_what_does_not_hold_two_batches_is_refused(device):
    with pytest.raises(InputError, match=f"{BATCHES} bytes of two batches"):
        source_of(IMAGES, LABELS, 6, device, BATCHES - 1)


@given(
    batch=st.integers(1, 9),
    steps=st.integers(1, 4),
    first=st.integers(0, 5),
    seed=st.integers(0, 9),
)
def test_before_a_step_its_items_lie_where_the_epoch_says(device, batch, steps, first, seed):
    items, targets = IMAGES[:, 0], LABELS.astype(np.int32)
    source = StreamedSource(items, targets, batch, steps, device)
    count = -(-len(items) // batch)
    for epoch in range(2):
        order = np.random.default_rng([seed, epoch]).permutation(len(items))
        begin = min(first, count - 1) if epoch == 0 else 0
        places = source.begin_epoch(order, begin)
        for step in range(begin, count):
            source.before(step)
            at = slice(step * batch, (step + 1) * batch)
            for memory, array in ((source.data, items), (source.targets, targets)):
                ring = np.empty((places.max() + 1, *array.shape[1:]), array.dtype)
                device.copy_out(memory, ring)
                np.testing.assert_array_equal(ring[places[at]], array[order[at]])


class Recording:
    """A device's stream of copies that notes what it is told."""

    def __init__(self, log):
        self.log, self.numbers = log, itertools.count()

    def copy_in(self, array, buffer):
        self.log.append("copy")

    def after(self, mark):
        self.log.append(("copies wait", mark))

    def mark(self):
        mark = Mark(self.log, f"arrived {next(self.numbers)}")
        self.log.append(mark.name)
        return mark


class Mark:
    def __init__(self, log, name):
        self.log, self.name = log, name

    def sync(self):
        self.log.append(("host waits", self.name))


def test_copies_wait_for_the_steps_that_read_their_slot_and_steps_for_copies(
    opencl_device, monkeypatch
):
    log, steps = [], itertools.count()
    source = StreamedSource(IMAGES, LABELS, 10, 1, opencl_device)
    source._copies = Recording(log)

    class Device:
        def after(self, mark):
            log.append(("steps wait", mark.name))

        def mark(self):
            return f"left {next(steps)}"

    source._gpu = Device()
    source.begin_epoch(np.arange(40), 0)
    for step in range(4):
        source.before(step)
        log.append(f"step {step}")
    assert [one for one in log if one != "copy"] == [
        "arrived 0",
        ("steps wait", "arrived 0"),
        ("copies wait", "left 0"),
        "arrived 1",
        "step 0",
        ("steps wait", "arrived 1"),
        ("host waits", "arrived 0"),
        ("copies wait", "left 1"),
        "arrived 2",
        "step 1",
        ("steps wait", "arrived 2"),
        ("host waits", "arrived 1"),
        ("copies wait", "left 2"),
        "arrived 3",
        "step 2",
        ("steps wait", "arrived 3"),
        "step 3",
    ]
    # The next epoch's copies wait for this one's last steps, whichever slot they read.
    log.clear()
    source.begin_epoch(np.arange(40)[::-1], 0)
    source.before(0)
    assert [one for one in log if one != "copy"] == [
        ("host waits", "arrived 2"),
        ("copies wait", "left 4"),
        "arrived 4",
        ("steps wait", "arrived 4"),
        ("host waits", "arrived 3"),
        ("copies wait", "left 5"),
        "arrived 5",
    ]
