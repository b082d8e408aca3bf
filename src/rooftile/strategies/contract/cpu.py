"""CPU strategies made of one serial kernel over units of independent work."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from rooftile.analysis.accesses import Counted
from rooftile.devices import cpu
from rooftile.devices.cpu import CpuDevice
from rooftile.devices.cpu.native import Native, values_of
from rooftile.ops import AnyArray
from rooftile.strategies.binding.bound import Bound, Config
from rooftile.strategies.binding.held import bytes_held
from rooftile.strategies.contract.cpu_kernel import BoundKernel, CpuKernel, packed, weights_and_bias
from rooftile.strategies.contract.strategy import Strategy

S = TypeVar("S", bound=Strategy)


class HostStrategy(Strategy):
    """A strategy of the CPU."""

    def bind(
        self,
        problem: Any,
        parameters: Sequence[AnyArray],
        device: CpuDevice,
        config: Config | None = None,
    ) -> HostBound:
        """See `Strategy.bind`."""
        self.check(problem)
        values = self.config(problem, config)
        call = self.prepare(problem, tuple(parameters), device.threads)
        return HostBound(self, problem, device, values, call)

    @abstractmethod
    def prepare(
        self, problem: Any, parameters: tuple[AnyArray, ...], threads: int
    ) -> Callable[..., None]:
        """``call(*inputs, *outputs)`` with the parameters packed and the workspace held. Its arrays
        are contiguous, of the problem's batch or of fewer items."""

    def round_trips(self, problem: Any) -> dict[str, int]:
        """Bytes that it writes and reads again between its parts, by what holds them; `explain`
        tells of them."""
        return {}

    def accesses(self, problem: Any) -> Counted:
        """The accesses of each of its parts by name: elements read and written, operations, and the
        number of dependent ones of a thread. Empty without a model."""
        return {}

    def native(self, problem: Any) -> tuple[Native, tuple[str, ...], bool] | None:
        """Its kernel, the dtypes of the kernel's arrays, and whether it has scratch; None where a
        library computes."""
        return None

    def once(self, problem: Any, device: CpuDevice) -> HostBound | None:
        """A strategy with the same results that reads unpacked parameters: `HostBound.renew` lends
        them for one call. It is for problems whose parameters take longer to pack than to use; None
        for others."""
        return None


class HostBound(Bound):
    """A strategy of the CPU with its parameters."""

    def __init__(
        self,
        strategy: Strategy,
        problem: Any,
        device: CpuDevice,
        config: Config,
        call: Any,
    ) -> None:
        super().__init__(strategy, problem, device, config)
        self.call: Callable[..., None] = call
        """``call(*inputs, *outputs)``, without a look at the arrays."""

    @cached_property
    def nbytes(self) -> int:
        """Bytes of packed parameters and workspace that it holds."""
        return bytes_held(self.call)

    @cached_property
    def renewable(self) -> bool:
        """See `Bound.renewable`."""
        return not self.problem.parameter_arrays or hasattr(self.call, "renew")

    def quick(self, parameters: int = 0, *, long: bool = False) -> cpu.Quick | None:
        """A whole call on arrays of the problem's own batch, and ``parameters`` of its parameters,
        which is all that this computes from now on; None where there is no such way. Missing
        parameters are zeros. A ``long`` call releases the GIL."""
        quick = getattr(self.call, "quick", None)
        problem = self.problem
        arrays = (
            *problem.input_arrays, *problem.parameter_arrays[:parameters], *problem.output_arrays,
        )  # fmt: skip
        if quick is None or len(problem.output_arrays) != 1:
            return None
        if problem.parameter_arrays and not parameters:
            return None
        if any(array.dtype != "float32" for array in arrays):
            return None
        made: cpu.Quick | None = quick([array.shape for array in arrays], long)
        return made

    def quick_beside(self, shapes: cpu.Shapes, *, long: bool) -> cpu.Quick | None:
        """A whole call on an input and a result of these shapes, small enough, that reads packed
        parameters as they are now, while other calls run; None where there is no such way. A
        ``long`` call gives the GIL back."""
        made = getattr(self.call, "quick_beside", None)
        if made is None or 4 * sum(map(math.prod, shapes)) > cpu.MOST_HELD:
            return None
        quick: cpu.Quick | None = made(shapes, long)
        return quick

    def renew(self, parameters: Sequence[AnyArray]) -> None:
        """See `Bound.renew`."""
        if parameters:
            renewing: Any = self.call
            renewing.renew(parameters)

    def launch(self, arrays: Sequence[AnyArray], batch: int | None = None) -> None:
        """See `Bound.launch`; when it returns, all is done."""
        if batch is None:
            self.call(*arrays)
        else:
            self.call(
                *(a[:batch] if p.batched else a for a, p in zip(arrays, self.held, strict=True))
            )

    def __call__(self, *arrays: AnyArray) -> None:
        """See `Bound.__call__`: on the arrays as they are, without a copy."""
        self.call(*arrays)


@dataclass(frozen=True)
class ArrayKernel:
    """A compiled way to compute one problem, whatever its arrays are.

    ``function(*inputs, *parameters, *outputs, sizes, begin, end)`` is a function of the kernel
    language over flat arrays, see `rooftile.devices.cpu.native.program`.
    """

    function: Native
    units: int
    """Of independent work, which the cores share out; as many for each item of a batch."""
    sizes: tuple[int, ...] = ()
    """The kernel's sizes at run time."""
    calculates: bool = False
    """True if numbers of 16 bits come as float32, and not as their bits."""

    def dtypes(self, problem: Any) -> tuple[str, ...]:
        """The dtypes that the kernel is told."""
        found = (array.dtype for array in problem.arrays)
        return tuple(map(values_of, found) if self.calculates else found)


class ArrayStrategy(HostStrategy):
    """A strategy that is one `ArrayKernel`."""

    @abstractmethod
    def kernel(self, problem: Any) -> ArrayKernel: ...

    def units(self, problem: Any) -> int:
        """The kernel's units."""
        return self.kernel(problem).units

    def native(self, problem: Any) -> tuple[Native, tuple[str, ...], bool]:
        """See `HostStrategy.native`."""
        kernel = self.kernel(problem)
        return kernel.function, kernel.dtypes(problem), False

    def prepare(
        self, problem: Any, parameters: tuple[AnyArray, ...], threads: int
    ) -> Callable[..., None]:
        """See `HostStrategy.prepare`."""
        return BoundArrays(
            problem, self.kernel(problem), parameters, threads if self.parallel else 1
        )


class BoundArrays:
    """An `ArrayKernel` with its parameters; any number of threads may call."""

    def __init__(
        self, problem: Any, kernel: ArrayKernel, parameters: tuple[AnyArray, ...], threads: int
    ) -> None:
        self._problem, self._kernel, self._threads = problem, kernel, threads
        self._run = cpu.Spread(kernel.function, kernel.dtypes(problem))
        self._sizes = np.array(kernel.sizes or (0,), np.int64)
        self._held = tuple(np.ascontiguousarray(parameter) for parameter in parameters)
        self._first = len(problem.input_arrays)

    def __call__(self, *arrays: AnyArray) -> None:
        units, batch, first = self._kernel.units, self._problem.batch_size, self._first
        if batch is not None:
            units = units // batch * self._problem.items_in(arrays)
        given = (*arrays[:first], *self._held, *arrays[first:])
        self._run(given, self._sizes, units, self._threads)

    def quick(self, shapes: cpu.Shapes, long: bool = False) -> cpu.Quick | None:
        """See `HostBound.quick`."""
        return self._run.quick(self._sizes, self._kernel.units, self._threads, shapes, long)


class CpuStrategy(HostStrategy):
    """A strategy that is one `CpuKernel`: it can be chained with others in a plan."""

    kernels = True

    @abstractmethod
    def kernel(self, problem: Any) -> CpuKernel:
        """The kernel for a problem; its batch does not matter."""

    def units(self, problem: Any) -> int:
        """The kernel's units for the problem's batch."""
        return self.kernel(problem).units(problem.batch)

    def native(self, problem: Any) -> tuple[Native, tuple[str, ...], bool]:
        """See `HostStrategy.native`."""
        return self.kernel(problem).function, ("float32",) * 4, True

    def prepare(self, problem: Any, parameters: tuple[AnyArray, ...], threads: int) -> BoundKernel:
        """See `HostStrategy.prepare`."""
        kernel = self.kernel(problem)
        count = threads if self.parallel else 1
        names = tuple(array.name for array in problem.parameter_arrays)
        weights, bias = packed(weights_and_bias(names, parameters), kernel, count)
        item = problem.input_arrays[0].item_size
        return BoundKernel(kernel, weights, bias, item, count, names)


__all__ = [
    "ArrayKernel",
    "ArrayStrategy",
    "BoundArrays",
    "CpuKernel",
    "CpuStrategy",
    "HostBound",
    "HostStrategy",
]


def loops_and_threads(loops: S, summary: str = "the same loops on every core") -> tuple[S, S]:
    """A rung `loops`, which has one thread, and the rung `threads`, its kernel on every core."""
    threads = copy(loops)
    threads.name, threads.parallel, threads.summary = "threads", True, summary
    return loops, threads
