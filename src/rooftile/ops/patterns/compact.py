"""`compact`: the elements of an array that a mask keeps, one after the other.

``y = x[mask]``. How many there are depends on the data: y has room for all, the second output says
how many of its elements are meant, and later ones are not looked at.

Source: Blelloch, "Prefix Sums and Their Applications" (CMU-CS-90-190, 1990), section 1.5; Billeter,
Olsson, Assarsson, "Efficient Stream Compaction on Wide SIMD Many-Core Architectures" (HPG 2009).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np

from rooftile.errors import InputError
from rooftile.ops.checks import check_positive
from rooftile.ops.climbed import Climbed
from rooftile.ops.features import SIZE
from rooftile.ops.judgement import Exact, Judgement, Properties
from rooftile.ops.patterns.counted import Counted
from rooftile.ops.precision import ErrorModel
from rooftile.ops.problem import DTYPES, AnyArray, Array, Dtype, ordinary


@dataclass(frozen=True)
class Compact(Counted):
    """y[count] and kept[1], int64, of x[count] and mask[count], bool.

    ``ordered``: elements keep their order; without it they may come in any.  ``share`` is what part
    of them the mask of ordinary inputs keeps; any mask is taken.  Raises `InputError` for a count
    below 1, another dtype and a share that is none.
    """

    operation: ClassVar[str] = "compact"
    words: ClassVar[str] = (
        "{count} {dtype}, {share:.0%} of which stay, in {ordered?their|any} order"
    )

    dtype: Dtype = "float32"
    ordered: bool = True
    share: float = field(default=0.5, metadata=SIZE)

    def __post_init__(self) -> None:
        check_positive(count=self.count)
        if self.dtype not in DTYPES:
            raise InputError("dtype", self.dtype, f"one of {list(DTYPES)}")
        if not 0 <= self.share <= 1:
            raise InputError("share", self.share, "a number from 0 to 1")

    @cached_property
    def arrays(self) -> tuple[Array, ...]:
        """x[count] and mask[count]; y[count] and kept[1]."""
        return (
            Array("x", (self.count,), self.dtype),
            Array("mask", (self.count,), "bool"),
            Array("y", (self.count,), self.dtype, role="output"),
            Array("kept", (1,), "int64", role="output"),
        )

    @property
    def itemsize(self) -> int:
        return self.arrays[0].numpy.itemsize

    @property
    def flops(self) -> int:
        """One addition for each element: of the places before it."""
        return self.count

    def moved(self) -> Mapping[str, int]:
        """See `Problem.moved`: of y as much as ordinary inputs keep."""
        written = round(self.share * self.count) * self.itemsize
        return {**super().moved(), "y": written}

    def reference(self, x: AnyArray, mask: AnyArray) -> tuple[AnyArray, AnyArray]:
        """The kept elements, then zeros; and the number of kept elements."""
        kept = x[mask]
        y = np.zeros_like(x)
        y[: kept.size] = kept
        return y, np.array([kept.size], np.int64)

    def defined(self, *outputs: AnyArray) -> tuple[AnyArray, ...]:
        """See `Problem.defined`: nothing after the kept elements."""
        y, kept = outputs
        return y[: max(0, int(kept[0]))], kept

    def given_by_others(self, made: AnyArray) -> tuple[AnyArray, ...]:
        """See `Problem.given_by_others`: others give what was kept alone."""
        y = np.zeros(self.count, self.arrays[0].numpy)
        y[: made.size] = made
        return y, np.array([made.size], np.int64)

    def judgement(self, output: Array, model: ErrorModel) -> Judgement:
        """The number exactly; elements bit by bit, as far as they are meant."""
        return Exact() if output == self.output_arrays[1] else Properties(self._wrong)

    def _wrong(self, y: AnyArray, kept: AnyArray, x: AnyArray, mask: AnyArray) -> str:
        bits = np.dtype(f"u{x.dtype.itemsize}")
        wanted = x[mask].view(bits)
        made = y[: wanted.size].view(bits)
        if not self.ordered:
            wanted, made = np.sort(wanted), np.sort(made)
        off = np.flatnonzero(made != wanted)
        if not off.size:
            return ""
        order = "" if self.ordered else " in any order"
        return f"{off.size} of {wanted.size} elements are not those that the mask keeps{order}"

    def random(self, seed: int) -> tuple[AnyArray, ...]:
        """Ordinary elements; each is kept or not by itself."""
        generator = np.random.default_rng(seed)
        x = ordinary(self.arrays[0], generator)
        return x, generator.random(self.count) < self.share

    def hard(self, seed: int) -> Mapping[str, tuple[AnyArray, ...]]:
        """All or none are kept, one, long runs; and elements that no arithmetic keeps."""
        x, mask = self.random(seed)
        single = np.zeros_like(mask)
        single[seed % self.count] = True
        runs = (np.arange(self.count) // 1000) % 2 == 1
        found = {
            "all": (x, np.ones_like(mask)),
            "none": (x, np.zeros_like(mask)),
            "one": (x, single),
            "runs": (x, runs),
        }
        if x.dtype.kind in "fV":
            odd = np.random.default_rng(seed).integers(0, 256, x.nbytes, np.uint8)
            found["any bits"] = (odd.view(x.dtype), mask)
        return found

    def altered(self, arrays: Sequence[AnyArray], which: int, seed: int) -> tuple[AnyArray, ...]:
        x, mask = arrays
        place = int(np.random.default_rng(seed).integers(self.count))
        if which == 1:
            changed = mask.copy()
            changed[place] = not changed[place]
            return x, changed
        kept = np.flatnonzero(mask)
        changed = x.copy()
        at = kept[place % kept.size] if kept.size else place
        changed[at : at + 1].view(np.uint8)[...] ^= 1
        return changed, mask


NAMED = {
    "half-10^6": Compact(10**6),
    "any-order-10^6": Compact(10**6, ordered=False),
    "half-10^8": Compact(10**8),
    "half-2^28": Compact(2**28),
    "tenth-2^28": Compact(2**28, share=0.1),
    "half-bytes-2^28": Compact(2**28, "uint8"),
    "any-order-2^28": Compact(2**28, ordered=False),
}
"""Named problems: half of the elements are kept, or a tenth."""
TEXTBOOK = Climbed.of("half-10^6", "any-order-10^6")
LARGE = Climbed.of("half-10^8")
