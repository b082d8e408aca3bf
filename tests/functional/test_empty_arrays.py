"""Arrays without elements: what NumPy gives for them, of every library that is at hand."""

from __future__ import annotations

import numpy as np
import pytest

import rooftile
from rooftile.errors import InputError

NONE = np.zeros((0, 3), np.float32)
HALF = NONE.astype(np.float16)
NO_SUMS = np.zeros(3, np.float32)
BYTES = np.zeros(0, np.uint8)
FLAT = np.zeros(0, np.float16)


def ends(x, count):
    """So many offsets of no elements, of the library of x and where it lies."""
    if isinstance(x, np.ndarray):
        return np.zeros(count, np.int64)
    import torch

    return torch.zeros(count, dtype=torch.int64, device=x.device)


CASES = {
    "add": (lambda x: rooftile.add(x, x), NONE, NONE),
    "axpy": (lambda x: rooftile.axpy(2, x, x), HALF, HALF),
    "scale": (lambda x: rooftile.scale(2, x), NONE, NONE),
    "transpose": (rooftile.transpose, NONE, NONE.T),
    "rotate": (rooftile.rotate, NONE.T, NONE.T),
    "no rows": (lambda x: rooftile.matmul(x, x, transpose_b=True), NONE, NONE @ NONE.T),
    "no terms": (lambda x: rooftile.matmul(x, x, transpose_a=True), HALF, HALF.T @ HALF),
    "matvec": (
        lambda x: rooftile.matvec(x, x[:, 0], transpose=True),
        NONE,
        np.zeros(3, np.float32),
    ),
    "sum": (rooftile.reduce, NONE, np.float32(0)),
    "products": (lambda x: rooftile.reduce(x, "product", 0), NONE, np.ones(3, np.float32)),
    "no greatest": (lambda x: rooftile.reduce(x, "max", 1), NONE, np.zeros(0, np.float32)),
    "no places": (lambda x: rooftile.argreduce(x, "max", 1), NONE, np.zeros(0, np.int64)),
    "scan": (rooftile.scan, NONE, NONE),
    "sums of bytes": (rooftile.scan, BYTES, np.zeros(0, np.int64)),
    "empty segments": (
        lambda x: rooftile.segmented_reduce(x, ends(x, 4), "product"),
        FLAT,
        np.ones(3, np.float16),
    ),
    "no segments": (
        lambda x: rooftile.segmented_reduce(x, ends(x, 1)),
        BYTES,
        np.zeros(0, np.int64),
    ),
    "scan of segments": (lambda x: rooftile.segmented_scan(x, ends(x, 4)), FLAT, FLAT),
    "scan of none": (lambda x: rooftile.segmented_scan(x, ends(x, 1)), FLAT, FLAT),
    "sort": (rooftile.sort, NONE, NONE),
    "argsort": (rooftile.argsort, NONE, np.zeros((0, 3), np.int64)),
    "unique": (rooftile.unique, NONE, np.zeros(0, np.float32)),
    "histogram": (rooftile.histogram, BYTES, np.zeros(256, np.int64)),
    "histogram of floats": (lambda x: rooftile.histogram(x, 7), NONE, np.zeros(7, np.int64)),
}


@pytest.mark.parametrize(("call", "x", "expected"), CASES.values(), ids=CASES)
def test_what_numpy_gives(call, x, expected):
    found = call(x)
    assert np.array_equal(found, expected)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)


def test_compact():
    mask = np.zeros((0, 3), bool)
    assert rooftile.compact(NONE, mask).shape == (0,)
    kept, count = rooftile.compact(NONE, mask, counted=True)
    assert (kept.shape, count.tolist()) == ((0,), [0])


def test_partition():
    parts, before = rooftile.partition(NONE, 1.0)
    assert (parts.shape, parts.dtype, before) == ((0,), np.float32, 0)
    _, before = rooftile.partition(NONE, 1.0, counted=True)
    assert before.tolist() == [0]


def test_out():
    out = np.full((3, 3), np.nan, np.float32)
    assert rooftile.matmul(NONE, NONE, transpose_a=True, out=out) is out
    assert (out == 0).all()
    nothing = np.empty(0, np.float32)
    assert rooftile.compact(NONE, np.zeros((0, 3), bool), out=nothing) is nothing
    with pytest.raises(InputError, match="out"):
        rooftile.add(NONE, NONE, out=np.empty((3, 0), np.float32))


@pytest.mark.parametrize(
    ("argument", "call"),
    [
        ("x", lambda: rooftile.reduce(NONE, "min")),
        ("x", lambda: rooftile.argreduce(NONE)),
        ("x", lambda: rooftile.argreduce(NONE, "max", 0)),
        ("a", lambda: rooftile.add(np.zeros(0, complex), np.zeros(0, complex))),
        ("b", lambda: rooftile.add(NONE, NONE.T)),
        ("b", lambda: rooftile.matmul(NONE, np.zeros((0, 4), np.float32))),
        ("axes", lambda: rooftile.transpose(NONE, (0, 0))),
        ("bins", lambda: rooftile.histogram(BYTES, 0)),
        ("offsets", lambda: rooftile.segmented_reduce(FLAT, np.array([0, 1]))),
        ("offsets", lambda: rooftile.segmented_scan(FLAT, np.array([0, 1]))),
        ("offsets", lambda: rooftile.segmented_scan(np.zeros(3, np.float16), np.array([0]))),
        ("pivot", lambda: rooftile.partition(NONE, np.zeros(2, np.float32))),
        ("device", lambda: rooftile.scan(NONE, device="tpu")),
    ],
)
def test_bad_input_names_the_argument(argument, call):
    with pytest.raises(InputError) as caught:
        call()
    assert caught.value.argument == argument


@pytest.mark.parametrize(("call", "x", "expected"), CASES.values(), ids=CASES)
def test_tensors_of_a_gpu(call, x, expected, cuda_device):
    torch = pytest.importorskip("torch")
    found = call(torch.from_numpy(x).cuda())
    assert found.is_cuda
    assert np.array_equal(found.cpu().numpy(), expected)
    assert found.cpu().numpy().dtype == expected.dtype
