"""CPU strategies made of one serial kernel over units of independent work."""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooftile.devices import cpu
from rooftile.ops import Float32
from rooftile.strategies.base import Bound, Strategy


def _as_given(weights: Float32) -> Float32:
    return weights


@dataclass(frozen=True)
class CpuKernel:
    """A compiled way to compute one problem, for any number of images.

    ``function(x, weights, bias, out, scratch, sizes, begin, end)`` is a Numba
    function over flat arrays, see `rooftile.devices.cpu.parallel`.
    """

    function: Any
    units: Callable[[int], int]
    """How many units of independent work so many images have."""
    pack: Callable[[Float32], Float32] = _as_given
    """The weights in the order that the kernel reads them."""
    scratch: int = 0
    """float32 of workspace a thread."""
    sizes: tuple[int, ...] = field(default=())
    """What the kernel wants to know at run time."""


class CpuStrategy(Strategy):
    """A strategy that is one `CpuKernel`: it can be chained with others in a plan."""

    parallel: bool = True

    @abstractmethod
    def kernel(self, problem: Any) -> CpuKernel:
        """The kernel for a problem; its batch does not matter."""

    def bind(self, problem: Any, *parameters: Float32, threads: int | None = None) -> Bound:
        """See `Strategy.bind`."""
        self.check(problem)
        kernel = self.kernel(problem)
        count = (threads or cpu.cores()) if self.parallel else 1
        weights, bias = pack(parameters, kernel)
        return BoundKernel(kernel, weights, bias, int(np.prod(problem.input_shape[1:])), count)


class BoundKernel:
    """A kernel with its packed parameters and scratch; calls from several threads take turns."""

    def __init__(
        self, kernel: CpuKernel, weights: Float32, bias: Float32, image: int, threads: int
    ) -> None:
        """``weights`` are packed, ``image`` is the number of elements of one image."""
        self._kernel, self._image, self._threads = kernel, image, threads
        self._driver = cpu.driver(kernel.function)
        # Rounded to a cache line so that no two threads share one.
        scratch = -(-kernel.scratch // 16) * 16
        buffer = cpu.allocate(max(16, scratch * threads), "scratch")
        sizes = np.array(kernel.sizes or (0,), np.int64)
        self._keep = (weights, bias, buffer, sizes)
        self._parameters = (weights.ctypes.data, weights.size, bias.ctypes.data, bias.size)
        self._work = (buffer.ctypes.data, scratch, sizes.ctypes.data, sizes.size)
        self._turn = threading.Lock()

    def __call__(self, x: Float32, out: Float32) -> None:
        arguments = (
            x.ctypes.data, x.size, *self._parameters, out.ctypes.data, out.size, *self._work,
        )  # fmt: skip
        units = self._kernel.units(x.size // self._image)
        with self._turn:
            cpu.parallel_call(
                self._driver.spread, self._driver.share, arguments, units, self._threads
            )


def pack(parameters: tuple[Float32, ...], kernel: CpuKernel) -> tuple[Float32, Float32]:
    """Packed weights and bias as flat arrays of our own; both empty for operations without."""
    if not parameters:
        nothing: NDArray[np.float32] = np.zeros(1, np.float32)
        return nothing, nothing
    weights, bias = parameters
    return aligned_copy(kernel.pack(weights)), aligned_copy(bias)


def aligned_copy(array: Float32) -> Float32:
    """A flat copy on a 64-byte boundary."""
    copy = cpu.allocate(array.size, "packed parameters")
    copy[:] = array.ravel()
    return copy
