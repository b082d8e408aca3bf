"""Host arrays on their way to a GPU and back: a plan's copies on devices that stand for one."""

from __future__ import annotations

import gc
import threading
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

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
    # Some 50 images a segment where the batch has as many, and threads copy all but the last.
    segment = 50 * x[0].nbytes
    monkeypatch.setattr(gpu_plan, "STREAMED_BYTES", 1000)
    monkeypatch.setattr(gpu_plan, "_SEGMENT_BYTES", segment)
    monkeypatch.setattr(gpu_plan, "_STAGED_BYTES", 20 * x[0].nbytes)
    monkeypatch.setattr(gpu_plan, "is_pinned", lambda images: page_locked)
    filled, given = [], staging._Filling.next
    monkeypatch.setattr(
        staging._Filling, "next", lambda self, given=given: filled.append(0) or given(self)
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


def test_the_threads_end_with_their_stager():
    before = threading.enumerate()
    stager = staging.Stager(lazy_cuda.Device(np.random.default_rng(0)), 2)
    with stager.filled([np.arange(6).reshape(3, 2)]) as source:
        (piece,) = source.next()
    np.testing.assert_array_equal(piece, [[0, 1], [2, 3], [4, 5]])
    threads = [thread for thread in threading.enumerate() if thread not in before]
    assert len(threads) == 2
    del source, stager
    gc.collect()
    for thread in threads:
        thread.join(10)
        assert not thread.is_alive()
