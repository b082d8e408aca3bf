"""New memory with chosen contents, and whether anything was computed on it.

What malloc leaves in a buffer is zero in most tests.  Here it is what a test says: every
buffer of `rooftile.devices.cpu.allocate`, with what lies around it, and those of `fft`.
"""

from __future__ import annotations

import contextlib
import ctypes
import ctypes.util
import functools
import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

from rooftile.devices.cpu import memory, open_device
from rooftile.lab.judge.verify import random_inputs
from rooftile.ops import Problem
from rooftile.strategies.contract.strategy import Strategy
from rooftile.strategies.conv2d.cpu import fft


class Pattern(NamedTuple):
    """The bits of one number in single and in double precision."""

    single: int
    double: int


ZEROS = Pattern(0, 0)
PATTERNS = {
    "subnormal": Pattern(0x0040_0001, 0x0008_0000_0000_0001),
    "NaN": Pattern(0x7FC0_0001, 0x7FF8_0000_0000_0001),
    "huge": Pattern(0x7F7F_FFFF, 0x7FEF_FFFF_FFFF_FFFF),
}
_SIGNALLING = Pattern(0x7FA0_0000, 0x7FF4_0000_0000_0000)
"""NaN that may be moved; whoever computes with it raises the processor's flag."""
_FE_INVALID = 1
_GUARD = 48
"""float32 before and behind a result, so that it does not begin on a cache line."""


class _Numpy:
    """NumPy, but for what an empty array holds."""

    def __init__(self, pattern: Pattern) -> None:
        self._pattern = pattern

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def empty(self, shape: Any, dtype: Any = np.float64) -> Any:
        """An array of the pattern; bytes are those of float32."""
        array = np.empty(shape, dtype)
        double = np.dtype(dtype).itemsize >= 8
        words = array.reshape(-1).view(np.uint64 if double else np.uint32)
        words[...] = self._pattern.double if double else self._pattern.single
        return array

    def empty_like(self, other: Any) -> Any:
        """See `empty`."""
        return self.empty(other.shape, other.dtype)


@functools.cache
def _flags() -> ctypes.CDLL:
    """C's functions on the processor's flags; a process that looks for them takes a while."""
    return ctypes.CDLL(ctypes.util.find_library("m"))


@contextlib.contextmanager
def new_memory_holds(pattern: Pattern) -> Iterator[None]:
    """Fill what is allocated inside."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (memory, fft):
            patch.setattr(module, "np", _Numpy(pattern))
        yield


def result(bound: Callable[[Any, Any], object], x: Any, shape: Any, pattern: Pattern) -> Any:
    """What a call writes into memory that held a pattern, where it ends at both sides."""
    count = math.prod(shape)
    words = np.full(count + 2 * _GUARD, pattern.single, np.uint32)
    out = words[_GUARD : _GUARD + count].view(np.float32).reshape(shape)
    bound(x, out)
    around = np.concatenate([words[:_GUARD], words[_GUARD + count :]])
    assert (around == pattern.single).all(), "it wrote outside its output"
    return out


def assert_same_bits(bind: Callable[[], Any], xs: Any, shape: Any) -> None:
    """Whatever new memory holds, what ``bind()`` makes gives the same results of one input
    after the other.  ``shape`` is that of one image's result."""

    def results(pattern: Pattern) -> list[Any]:
        with new_memory_holds(pattern):
            bound = bind()
            return [result(bound, x, (len(x), *shape), pattern).view(np.uint32) for x in xs]

    expected = results(ZEROS)
    for name, pattern in PATTERNS.items():
        for of_zeros, found in zip(expected, results(pattern), strict=True):
            assert np.array_equal(found, of_zeros), f"it depends on memory that held {name}"


def computes_on_new_memory(bind: Callable[[], Any], x: Any, shape: Any) -> bool:
    """Whether a call on this thread computes with what its buffers held before, even where no
    result depends on it.  All inputs are finite, ``bind()`` has been called before (compiling
    computes, too), and ``shape`` is that of one image's result."""
    flags = _flags()
    with new_memory_holds(_SIGNALLING):
        bound = bind()
        out = memory.allocate(len(x) * math.prod(shape)).reshape(len(x), *shape)
        # No NumPy between these three: it clears the flags.
        flags.feclearexcept(_FE_INVALID)
        bound(x, out)
        return bool(flags.fetestexcept(_FE_INVALID))


def check_new_memory(rung: Strategy, problem: Problem, seed: int = 0) -> None:
    """What new memory holds changes no bit of a strategy's results, and nothing computes on it."""
    x, *parameters = random_inputs(problem, seed)
    shape = problem.output_shape[1:]

    def bind() -> Any:
        return rung.bind(problem, parameters, open_device(1))

    assert_same_bits(bind, (x, x[:1]), shape)
    computes = computes_on_new_memory(bind, x, shape)
    assert not computes, f"{rung.name} computes on memory that nobody wrote"
