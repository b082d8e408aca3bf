"""Host arrays on their way to a GPU and back: a plan's copies on devices that stand for one."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lazy_cuda
from rooftile.nn import gpu_plan, staging
from rooftile.nn.staging import DirectCopies, PinnedCopies
from rooftile.ops.problem import numpy_dtype
from stream_cases import SMALL, InOrder


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
@pytest.mark.parametrize("batch", [64, 8])
def test_large_arrays_go_in_segments(batch, dtype, page_locked, opencl_device, monkeypatch):
    plan = SMALL.plan(batch=batch, device="opencl")
    rng = np.random.default_rng(0)
    x = rng.integers(0, 256, (150, *SMALL.input_shape)).astype(numpy_dtype(dtype))
    expected = plan(x)
    # Some 50 images a segment where the batch has as many, and cores copy all but the last.
    segment = 50 * x[0].nbytes
    monkeypatch.setattr(gpu_plan, "STREAMED_BYTES", 1000)
    monkeypatch.setattr(gpu_plan, "_SEGMENT_BYTES", segment)
    monkeypatch.setattr(gpu_plan, "_STAGED_BYTES", 20 * x[0].nbytes)
    monkeypatch.setattr(gpu_plan, "is_pinned", lambda images: page_locked)
    filled, following = [], staging._Filling.next
    monkeypatch.setattr(
        staging._Filling,
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
    staged = batch == 64 and not page_locked
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
