"""Host arrays on their way to a GPU and back: a plan's copies on devices that stand for one."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rooftile.nn import gpu_plan, staging
from rooftile.nn.staging import DirectCopies, PinnedCopies
from rooftile.ops.problem import numpy_dtype
from tests.support import lazy_cuda
from tests.support.lazy_cuda import lazily  # noqa: F401
from tests.support.stream_cases import SMALL, InOrder


@pytest.mark.parametrize("seed", range(5))
def test_a_batch_through_page_locked_memory(seed, monkeypatch):
    device = lazy_cuda.Device(np.random.default_rng(seed))
    monkeypatch.setattr(staging, "own_stream", lambda device: device.own)
    copies, x, y = PinnedCopies(device), device.allocate(400), device.allocate(400)

    def layers():
        y.view(np.float32)[:] = 2 * x.view(np.float32)

    # Longer and shorter ones, so that page-locked memory grows and is used again.
    for count in (3, 100, 7):
        images = np.random.default_rng(count).standard_normal(count).astype(np.float32)
        scores = np.full(count, np.nan, np.float32)
        device.waits_of_the_host = 0
        copies.run(images, x, lambda: device.start(layers), y, scores)
        np.testing.assert_array_equal(scores, 2 * images)
        assert device.waits_of_the_host == 1


def test_a_batch_by_copies_that_the_host_waits_for(opencl_device):
    x, copies = opencl_device.allocate(28), DirectCopies(opencl_device)
    scores, images = np.empty(7, np.float32), np.arange(7, dtype=np.float32)
    copies.run(images, x, lambda: None, x, scores)
    np.testing.assert_array_equal(scores, images)


class Staged(InOrder):
    """A device of one queue that stands for a CUDA device, whose marks are passed at once."""

    def __init__(self, device):
        super().__init__(device)
        self.description = replace(device.description, kind="cuda")

    def mark(self):
        return SimpleNamespace(sync=lambda: None)


@pytest.mark.parametrize("page_locked", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float16", "uint8"])
@pytest.mark.parametrize("batch", [150, 8])
def test_large_arrays_go_in_segments(batch, dtype, page_locked, opencl_device, monkeypatch):
    plan = SMALL.plan(batch=batch, device="opencl")
    rng = np.random.default_rng(0)
    x = rng.integers(0, 256, (150, *SMALL.input_shape)).astype(numpy_dtype(dtype))
    expected = plan(x)
    # 50 images a segment where the batch has as many, which cores copy.
    segment = 50 * x[0].nbytes
    monkeypatch.setattr(gpu_plan, "STREAMED_BYTES", 1000)
    monkeypatch.setattr(gpu_plan, "SEGMENT_BYTES", segment)
    monkeypatch.setattr(gpu_plan, "STAGED_BYTES", 20 * x[0].nbytes)
    monkeypatch.setattr(gpu_plan, "is_pinned", lambda images: page_locked)
    filled, following = [], staging.Filling.next
    monkeypatch.setattr(
        staging.Filling,
        "next",
        lambda self, following=following: filled.append(0) or following(self),
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan, "_gpu", Staged(plan._gpu))
        for _ in range(2):
            np.testing.assert_array_equal(plan(x), expected)
        out = np.empty_like(expected)
        assert plan(x, out=out) is out
    np.testing.assert_array_equal(out, expected)
    staged = batch == 150 and not page_locked
    assert len(filled) == (9 if staged else 0)


@given(
    count=st.integers(0, 70_000), skew=st.integers(0, 5), lead=st.integers(0, 70),
    threads=st.integers(1, 3),
)  # fmt: skip
@settings(max_examples=60)
def test_bytes_are_copied_from_anywhere_to_anywhere(count, skew, lead, threads):
    source = np.random.default_rng(count).integers(0, 256, count + skew).astype(np.uint8)[skew:]
    to = np.full(count + lead + 64, 7, np.uint8)
    staging.copy_bytes(source, to[lead : lead + count], threads)
    np.testing.assert_array_equal(to[lead : lead + count], source)
    assert (to[:lead] == 7).all()
    assert (to[lead + count :] == 7).all()


def test_bits_that_are_no_numbers_are_kept():
    source = np.full(1000, 0x7F800001, np.uint32).view(np.uint8)
    to = np.zeros_like(source)
    staging.copy_bytes(source, to, 1)
    np.testing.assert_array_equal(to, source)


@pytest.mark.parametrize(("cores", "copying"), [(1, 1), (2, 2), (8, 7), (16, 14), (64, 15)])
def test_some_cores_are_left_to_others(cores, copying):
    assert staging.copying(cores) == copying


def test_pieces_grow_and_keep_their_length_in_the_next_segment(monkeypatch):
    monkeypatch.setattr(staging, "FIRST_PIECE_BYTES", 1024)
    monkeypatch.setattr(staging, "PIECE_BYTES", 1200)
    parts = np.split(np.random.default_rng(0).integers(0, 256, 9500).astype(np.uint8), [5000])
    buffers = [np.zeros(5000, np.uint8) for _ in parts]
    lengths = [1024, 1152, 1200, 1200, 424], [1200, 1200, 1200, 900]
    filling = staging.Filling(buffers, parts, 1)
    for part, expected in zip(parts, lengths, strict=True):
        pieces = [piece.copy() for piece in filling.next()]
        assert [len(piece) for piece in pieces] == expected
        np.testing.assert_array_equal(np.concatenate(pieces), part)


@given(count=st.integers(1, 500), most=st.integers(1, 120))
def test_segments_are_as_few_as_there_can_be_and_of_one_length(count, most):
    segment = gpu_plan.evenly(count, most)
    number = -(-count // segment)
    assert segment <= most
    assert number == -(-count // most)
    assert 0 < count - (number - 1) * segment <= segment
    assert segment == 1 or -(-count // (segment - 1)) > number
