"""One serial kernel over units of independent work, alone and with its packed parameters."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rooftile._locks import lock
from rooftile.devices import cpu
from rooftile.devices.cpu.native import Native
from rooftile.ops import Float32

UNITS, X, _NX, WEIGHTS, _NWEIGHTS, _BIAS, _NBIAS, OUT, _NOUT = map(
    cpu.FIELDS.index,
    ("units", "x", "nx", "weights", "nweights", "bias", "nbias", "out", "nout"),
)

_FEW_WEIGHTS = 2**13

Pack = Callable[[Float32, Float32, int], None]
"""``pack(weights, packed, threads)`` fills a flat array with the weights in the order that a kernel
reads them."""


def _as_given(weights: Float32, packed: Float32, threads: int) -> None:
    packed[:] = weights.ravel()


@dataclass(frozen=True)
class KernelPacking:
    """A kernel that packs weights in a given order, in ``units`` units."""

    spread: cpu.Spread
    units: int
    sizes: NDArray[np.int64]

    @property
    def entry(self) -> cpu.Entry:
        """Its row of `cpu.KernelSequence` begins with this."""
        kernel, dtypes, _ = self.spread.native
        return cpu.Entry(kernel, dtypes)

    def row(self, weights: int, packed: Float32) -> list[int]:
        """The rest of the row for ``weights`` weights, whose address, at `X`, is 0 yet."""
        return [self.units, 0, weights, *cpu.places((packed, self.sizes))]

    def fill(self, weights: Float32, packed: Float32, threads: int) -> None:
        """Pack weights that lie so."""
        # A few are packed before the other cores could be told of it.
        count = threads if weights.size > _FEW_WEIGHTS else 1
        self.spread((weights, packed), self.sizes, self.units, count)


@dataclass(frozen=True)
class CpuKernel:
    """A compiled way to compute one problem, for any number of images.

    ``function(x, weights, bias, out, scratch, sizes, begin, end)`` is a function
    of the kernel language over flat arrays, see `rooftile.devices.cpu.native.program`.
    """

    function: Native
    units: Callable[[int], int]
    """Number of units of independent work by number of images."""
    pack: Pack = _as_given
    packing: KernelPacking | None = None
    """The kernel that packs few weights in the call that uses them; None where nothing does."""
    packed: int | None = None
    """float32 of packed weights; None: as many as weights."""
    scratch: int = 0
    """float32 of workspace a thread."""
    sizes: tuple[int, ...] = field(default=())
    """The kernel's sizes at run time."""


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
        the problem's parameters'."""
        self._kernel, self._image, self._threads = kernel, image, threads
        self._names = names
        # Rounded to a cache line so that no two threads share one.
        scratch = -(-kernel.scratch // 16) * 16
        buffer = cpu.allocate(max(16, scratch * threads), "scratch")
        sizes = np.array(kernel.sizes or (0,), np.int64)
        self._keep = (weights, bias, buffer, sizes)
        row = (0, 0, 0, *cpu.places((weights, bias)), 0, 0, cpu.address(buffer), scratch)
        entry = cpu.Entry.of_layer(kernel.function)
        self._work = cpu.KernelSequence([entry], [(*row, *cpu.places([sizes]))])
        self._row = self._work.rows[0]
        self._turn = lock()

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
                row[UNITS] = self._kernel.units(count // self._image)
                row[_NX], row[_NOUT] = count, out.size
            row[X], row[OUT] = cpu.address(x), cpu.address(out)
            self._work.run(row[UNITS], self._threads)

    def sized(self, x: int, out: int) -> list[int]:
        """The row of `cpu.KernelSequence` for inputs of ``x`` and results of ``out`` elements."""
        row = self._row
        row[UNITS], row[_NX], row[_NOUT] = self._kernel.units(x // self._image), x, out
        return list(row)[1:]

    def quick(self, shapes: cpu.Shapes, long: bool = False) -> cpu.Quick | None:
        """See `HostBound.quick`."""
        x, *parameters, out = map(math.prod, shapes)
        self.sized(x, out)
        if not parameters:
            return self._work.quick(self._threads, shapes, (X, OUT), self._keep, long)
        return self._quick_packing(shapes, parameters, long)

    def quick_beside(self, shapes: cpu.Shapes, long: bool) -> cpu.Quick | None:
        """A whole call on an input and a result of these shapes, while others run, with scratch of
        its own: it reads the packed parameters that are here now."""
        weights, bias, *_ = self._keep
        given = self._kernel, weights, bias, self._image, self._threads, self._names
        return BoundKernel(*given).quick(shapes, long)

    def _quick_packing(
        self, shapes: cpu.Shapes, parameters: Sequence[int], long: bool
    ) -> cpu.Quick | None:
        """The same with weights, and maybe a bias, of these numbers of elements: a row packs the
        weights for the kernel's, which reads the bias in place."""
        packing = self._kernel.packing
        if packing is None or len(self._names) != 2:
            return None
        zeros = np.zeros_like(self._keep[1])
        rows = packing.row(parameters[0], self._keep[0]), list(self._row)[1:]
        work = cpu.KernelSequence((packing.entry, cpu.Entry.of_layer(self._kernel.function)), rows)
        work.rows[1][_BIAS] = cpu.address(zeros)
        # The weights are the packing's first array, at the place of a layer's input.
        width = len(cpu.FIELDS)
        places = (width + X, X, width + _BIAS)[: 1 + len(parameters)]
        kept = (self._keep, packing, zeros)
        return work.quick(self._threads, shapes, (*places, width + OUT), kept, long)


class LentKernel(BoundKernel):
    """A kernel that reads parameters where they lie: those that it was last given, for one call."""

    def __init__(self, kernel: CpuKernel, image: int, threads: int) -> None:
        super().__init__(kernel, NOTHING, NOTHING, image, threads)
        self._lent: tuple[Float32, ...] = ()

    def quick(self, shapes: cpu.Shapes, long: bool = False) -> None:
        """None: what is lent for one call is not there in the next."""

    def renew(self, parameters: Sequence[Float32]) -> None:
        """Read these in the next call; they are contiguous."""
        self._lent = weights, bias = tuple(parameters)
        row = self._row
        row[WEIGHTS], row[_NWEIGHTS] = cpu.address(weights), weights.size
        row[_BIAS], row[_NBIAS] = cpu.address(bias), bias.size

    def __call__(self, x: Float32, out: Float32) -> None:
        super().__call__(x, out)
        self._lent = ()


NOTHING: Float32 = np.zeros(1, np.float32)
"""The placeholder of an array that a kernel does not take."""


def weights_and_bias(
    names: Sequence[str], parameters: Sequence[Float32]
) -> tuple[Float32, Float32]:
    """A kernel's weights and bias, from parameters with these names; a zero for a missing one."""
    given = dict(zip(names, parameters, strict=True))
    return given.get("weights", NOTHING), given.get("bias", NOTHING)


def packed(
    parameters: tuple[Float32, ...], kernel: CpuKernel, threads: int
) -> tuple[Float32, Float32]:
    """Packed weights and bias as flat arrays of our own; both empty for operations without."""
    if not parameters:
        return NOTHING, NOTHING
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
