"""CPU strategies made of one serial kernel over units of independent work."""

from __future__ import annotations

import math
import threading
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from rooftile.analysis.accesses import Counted
from rooftile.devices import cpu
from rooftile.devices.cpu import CpuDevice
from rooftile.devices.cpu.native import Native, values_of
from rooftile.ops import AnyArray, Float32
from rooftile.strategies.base import Bound, Config, Strategy

_UNITS, _X, _NX, _WEIGHTS, _NWEIGHTS, _BIAS, _NBIAS, _OUT, _NOUT = map(
    cpu.FIELDS.index,
    ("units", "x", "nx", "weights", "nweights", "bias", "nbias", "out", "nout"),
)


Pack = Callable[[Float32, Float32, int], None]
"""``pack(weights, packed, threads)`` fills a flat array with the weights in the order that a kernel
reads them."""


def _as_given(weights: Float32, packed: Float32, threads: int) -> None:
    packed[:] = weights.ravel()


@dataclass(frozen=True)
class CpuKernel:
    """A compiled way to compute one problem, for any number of images.

    ``function(x, weights, bias, out, scratch, sizes, begin, end)`` is a function
    of the kernel language over flat arrays, see `rooftile.devices.cpu.native.program`.
    """

    function: Native
    units: Callable[[int], int]
    """How many units of independent work so many images have."""
    pack: Pack = _as_given
    packed: int | None = None
    """float32 of packed weights; None: as many as weights."""
    scratch: int = 0
    """float32 of workspace a thread."""
    sizes: tuple[int, ...] = field(default=())
    """What the kernel wants to know at run time."""


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
        """``call(*inputs, *outputs)`` with the parameters packed and the workspace held.

        Its arrays are contiguous, of the problem's batch or of fewer items.
        """

    def round_trips(self, problem: Any) -> dict[str, int]:
        """Bytes that it writes and reads again between its parts, by what holds them; `explain`
        tells of them."""
        return {}

    def accesses(self, problem: Any) -> Counted:
        """What each of its parts does, by what it is: elements read and written, operations, and
        how many of them one thread does one after another.  Empty where nobody counted."""
        return {}

    def native(self, problem: Any) -> tuple[Native, tuple[str, ...], bool] | None:
        """Its kernel, the dtypes of the kernel's arrays, and whether it has scratch; None where a
        library computes."""
        return None

    def once(self, problem: Any, device: CpuDevice) -> HostBound | None:
        """What computes as what is bound, with the same results, but reads parameters as they lie:
        `HostBound.renew` lends them for one call.  It is for problems whose parameters take longer
        to pack than to be used; None for others."""
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
        """What it holds of packed parameters and workspace, where that may be much."""
        return int(getattr(self.call, "nbytes", 0))

    @cached_property
    def renewable(self) -> bool:
        """See `Bound.renewable`."""
        return not self.problem.parameter_arrays or hasattr(self.call, "renew")

    def quick(self) -> cpu.Quick | None:
        """A whole call on arrays of the problem's own batch, which is all that this computes from
        now on; None where there is no such way."""
        quick = getattr(self.call, "quick", None)
        arrays = (*self.problem.input_arrays, *self.problem.output_arrays)
        if quick is None or self.problem.parameter_arrays or len(self.problem.output_arrays) != 1:
            return None
        if any(array.dtype != "float32" for array in arrays):
            return None
        made: cpu.Quick | None = quick([array.shape for array in arrays])
        return made

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
    """What the kernel wants to know at run time."""
    calculates: bool = False
    """Whether numbers of 16 bits come as float32, and not as their bits."""

    def dtypes(self, problem: Any) -> tuple[str, ...]:
        """What the kernel is said to be given."""
        found = (array.dtype for array in problem.arrays)
        return tuple(map(values_of, found) if self.calculates else found)


class ArrayStrategy(HostStrategy):
    """A strategy that is one `ArrayKernel`."""

    @abstractmethod
    def kernel(self, problem: Any) -> ArrayKernel:
        """The kernel for a problem."""

    def units(self, problem: Any) -> int:
        """Those of the kernel."""
        return self.kernel(problem).units

    def native(self, problem: Any) -> tuple[Native, tuple[str, ...], bool]:
        """See `HostStrategy.native`."""
        kernel = self.kernel(problem)
        return kernel.function, kernel.dtypes(problem), False

    def prepare(
        self, problem: Any, parameters: tuple[AnyArray, ...], threads: int
    ) -> Callable[..., None]:
        """See `HostStrategy.prepare`."""
        return _BoundArrays(
            problem, self.kernel(problem), parameters, threads if self.parallel else 1
        )


class _BoundArrays:
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

    def quick(self, shapes: cpu.Shapes) -> cpu.Quick | None:
        """See `HostBound.quick`."""
        return self._run.quick(self._sizes, self._kernel.units, self._threads, shapes)


class CpuStrategy(HostStrategy):
    """A strategy that is one `CpuKernel`: it can be chained with others in a plan."""

    kernels = True

    @abstractmethod
    def kernel(self, problem: Any) -> CpuKernel:
        """The kernel for a problem; its batch does not matter."""

    def units(self, problem: Any) -> int:
        """Those of the kernel for the problem's batch."""
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


class BoundKernel:
    """A kernel with its packed parameters and scratch; calls from several threads take turns."""

    def __init__(
        self,
        kernel: CpuKernel,
        weights: Float32,
        bias: Float32,
        image: int,
        threads: int,
        names: Sequence[str] = ("weights", "bias"),
    ) -> None:
        """``weights`` are packed, ``image`` is the number of elements of one image, ``names`` are
        those of the problem's parameters."""
        self._kernel, self._image, self._threads = kernel, image, threads
        self._names = names
        # Rounded to a cache line so that no two threads share one.
        scratch = -(-kernel.scratch // 16) * 16
        buffer = cpu.allocate(max(16, scratch * threads), "scratch")
        sizes = np.array(kernel.sizes or (0,), np.int64)
        self._keep = (weights, bias, buffer, sizes)
        self.nbytes = sum(array.nbytes for array in self._keep)
        """Of packed parameters and scratch."""
        row = (0, 0, 0, *cpu.places((weights, bias)), 0, 0, cpu.address(buffer), scratch)
        entry = cpu.Entry.of_layer(kernel.function)
        self._work = cpu.Work([entry], [(*row, *cpu.places([sizes]))])
        self._row = self._work.rows[0]
        self._turn = threading.Lock()

    def renew(self, parameters: Sequence[Float32]) -> None:
        """Pack other parameters of the same shapes."""
        both = len(parameters) == 2
        weights, bias = parameters if both else weights_and_bias(self._names, parameters)
        self._kernel.pack(weights, self._keep[0], self._threads)
        self._keep[1][:] = bias

    def __call__(self, x: Float32, out: Float32) -> None:
        count, row = x.size, self._row
        with self._turn:
            if row[_NX] != count:
                row[_UNITS] = self._kernel.units(count // self._image)
                row[_NX], row[_NOUT] = count, out.size
            row[_X], row[_OUT] = cpu.address(x), cpu.address(out)
            self._work.run(row[_UNITS], self._threads)

    def quick(self, shapes: cpu.Shapes) -> cpu.Quick | None:
        """See `HostBound.quick`."""
        row, (x, out) = self._row, map(math.prod, shapes)
        row[_UNITS], row[_NX], row[_NOUT] = self._kernel.units(x // self._image), x, out
        return self._work.quick(self._threads, shapes, (_X, _OUT), self._keep)


class LentKernel(BoundKernel):
    """A kernel that reads parameters where they lie: those that it was last given, for one call."""

    def __init__(self, kernel: CpuKernel, image: int, threads: int) -> None:
        super().__init__(kernel, _NOTHING, _NOTHING, image, threads)
        self._lent: tuple[Float32, ...] = ()

    def renew(self, parameters: Sequence[Float32]) -> None:
        """Read these in the next call; they are contiguous."""
        self._lent = weights, bias = tuple(parameters)
        row = self._row
        row[_WEIGHTS], row[_NWEIGHTS] = cpu.address(weights), weights.size
        row[_BIAS], row[_NBIAS] = cpu.address(bias), bias.size

    def __call__(self, x: Float32, out: Float32) -> None:
        super().__call__(x, out)
        self._lent = ()


_NOTHING: Float32 = np.zeros(1, np.float32)


def weights_and_bias(
    names: Sequence[str], parameters: Sequence[Float32]
) -> tuple[Float32, Float32]:
    """What a kernel is given of parameters with these names; a zero for what is not there."""
    given = dict(zip(names, parameters, strict=True))
    return given.get("weights", _NOTHING), given.get("bias", _NOTHING)


def packed(
    parameters: tuple[Float32, ...], kernel: CpuKernel, threads: int
) -> tuple[Float32, Float32]:
    """Packed weights and bias as flat arrays of our own; both empty for operations without."""
    if not parameters:
        return _NOTHING, _NOTHING
    weights, bias = parameters
    count = weights.size if kernel.packed is None else kernel.packed
    own = cpu.allocate(count, "packed parameters")
    kernel.pack(weights, own, threads)
    return own, aligned_copy(bias)


def aligned_copy(array: Float32) -> Float32:
    """A flat copy on a 64-byte boundary."""
    copy = cpu.allocate(array.size, "packed parameters")
    copy[:] = array.ravel()
    return copy
