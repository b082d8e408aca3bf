"""Where a call's arrays lie: a device of host memory, whose layers look at what they are given."""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import weakref
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rooftile.devices.cuda import CudaArray
from rooftile.devices.launches import Call, PlainLaunches
from rooftile.nn import calls_in_place
from rooftile.nn.calls_in_place import CallsInPlace
from rooftile.nn.gpu_path import GpuPath, aligned_step
from rooftile.ops.problem import numpy_dtype
from rooftile.runtime.arrays.libraries import Library

_memory = []
"""All that was allocated: a weak reference, and the address."""


def at(address, count, dtype=np.float32):
    """Memory by its address as an array; it lies within one that is still held."""
    nbytes = count * np.dtype(dtype).itemsize
    held = [(start, array().nbytes) for array, start in _memory if array() is not None]
    assert any(start <= address and address + nbytes <= start + size for start, size in held)
    return np.frombuffer((ctypes.c_char * nbytes).from_address(address), dtype)


def aligned(nbytes):
    raw = np.full(nbytes + 256, 0xA5, np.uint8)
    start = -raw.ctypes.data % 256
    memory = raw[start : start + nbytes]
    _memory.append((weakref.ref(memory), memory.ctypes.data))
    return memory


class Host(Library):
    """Arrays of the host that stand for a GPU's; memory that is given away is poison."""

    title = "a host array"

    def gpu(self, name, array):
        return 0

    def empty(self, shape, device, dtype="float32"):
        size = numpy_dtype(dtype).itemsize
        memory = aligned(int(np.prod(shape)) * size)
        return CudaArray(memory, memory.ctypes.data, shape, 0, dtype=dtype)


class Gpu:
    """Runs nothing on streams; all is done at once."""

    @contextlib.contextmanager
    def on(self, stream=None):
        yield

    def capturing(self):
        return False

    def launches(self, work, names):
        return PlainLaunches(work, names)


class At:
    """A program whose kernel is a function of addresses and numbers."""

    def __init__(self, function):
        self._function = function

    def launch(self, launch, *arguments):
        self._function(*arguments)


class Moves:
    """Kernels of `Numbers` that are held to the alignment of their accesses."""

    def __init__(self, dtype):
        self._dtype = numpy_dtype(dtype)

    def read(self, images, x, count):
        return Call(At(self._read), None, (images, x, count))

    def write(self, y, scores, count):
        return Call(At(self._write), None, (y, scores, count))

    def _read(self, images, x, count):
        assert images % 16 == x % 16 == 0
        at(x, count)[:] = at(images, count, self._dtype).astype(np.float32)

    def _write(self, y, scores, count):
        assert y % 16 == scores % 16 == 0
        at(scores, count, self._dtype)[:] = at(y, count).astype(self._dtype)

    def move(self, given, to, nbytes):
        return Call(At(self._move), None, (given, to, nbytes))

    def _move(self, given, to, nbytes):
        at(to, nbytes, np.uint8)[:] = at(given, nbytes, np.uint8)


class Layer:
    """Sums of neighbours, by way of temporaries that it writes before it reads them."""

    def __init__(self, inputs, outputs, temporary):
        self._sizes, self._temporary = (inputs, outputs), temporary

    def temporaries(self, batch):
        return {"sums": 4 * batch * self._sizes[1]} if self._temporary else {}

    def calls(self, batch, ends, temporaries, prefix):
        return [Call(At(self._run), None, (*ends, batch, *temporaries.values()))], {}

    def _run(self, x, y, batch, sums=None):
        assert x % 16 == y % 16 == 0
        size = batch * self._sizes[1]
        sums = (at(sums, size) if sums else np.empty(size, np.float32)).reshape(batch, -1)
        inputs, outputs = self._sizes
        given = at(x, batch * inputs).reshape(batch, inputs)
        made = at(y, batch * outputs).reshape(batch, outputs)
        # What overlaps is lost.
        sums[:] = made[:] = np.nan
        sums[:] = given[:, np.arange(outputs) % inputs] + np.arange(outputs, dtype=np.float32)
        made[:] = np.nan
        made[:] = sums


def expected(x, sizes):
    x = x.astype(np.float32)
    for inputs, outputs in itertools.pairwise(sizes):
        x = x[:, np.arange(outputs) % inputs] + np.arange(outputs, dtype=np.float32)
    return x


@settings(max_examples=60)
@given(
    count=st.integers(1, 23), batch=st.integers(1, 24),
    sizes=st.lists(st.integers(1, 40), min_size=2, max_size=5),
    dtype=st.sampled_from(["float32", "float16", "uint8"]), temporary=st.booleans(),
)  # fmt: skip
def test_scores_of_any_batch_and_sizes(count, batch, sizes, dtype, temporary):
    _memory.clear()
    rng = np.random.default_rng(0)
    bound = [
        Layer(*pair, temporary and number % 2 == 0)
        for number, pair in enumerate(itertools.pairwise(sizes))
    ]
    narrow = dtype == "float16"
    numbers = None if dtype == "float32" else Moves(dtype)
    path = GpuPath(Gpu(), dtype, bound, sizes, numbers, (dtype != "float32", narrow))
    images = rng.integers(0, 200, (count, sizes[0])).astype(dtype)
    x = aligned(images.nbytes)
    x[:] = images.reshape(-1).view(np.uint8)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(calls_in_place, "Numbers", lambda *_: Moves("uint8"))
        calls = CallsInPlace(Gpu(), batch, lambda _: path)
        given_x = CudaArray(x, x.ctypes.data, images.shape, 0, dtype=dtype)
        memory = calls(Host(), given_x, None, (count, sizes[-1]))
    scores = memory.view(path.scores).reshape(count, sizes[-1])
    np.testing.assert_array_equal(scores, expected(images, sizes).astype(path.scores))
    np.testing.assert_array_equal(x, images.reshape(-1).view(np.uint8))


@settings(max_examples=60)
@given(st.integers(1, 300), st.integers(1, 50), st.integers(1, 50))
def test_steps_end_on_boundaries_where_they_can(batch, image_bytes, score_bytes):
    path = SimpleNamespace(image_bytes=image_bytes, score_bytes=score_bytes)
    step = aligned_step(path, batch, 16)
    fits = [
        n for n in range(1, batch + 1) if n * image_bytes % 16 == 0 and n * score_bytes % 16 == 0
    ]
    assert step == (max(fits) if fits else batch)
