"""`segmented_scan`: the scan of each of many segments that lie one after the other.

Segment ``s`` is ``x[offsets[s]]`` to ``x[offsets[s + 1] - 1]``, and may be empty. Numbers of 16
bits are combined in float32, and integers in 64 bits unless they are selected.

Source: Blelloch, "Prefix Sums and Their Applications" (CMU-CS-90-190, 1990), section 1.5; PMPP,
chapter 11.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np

from rooftile.errors import InputError
from rooftile.ops.checks import check_positive
from rooftile.ops.climbed import Climbed
from rooftile.ops.judgement import Judgement
from rooftile.ops.operator import SUM, Operator
from rooftile.ops.patterns import combining
from rooftile.ops.precision import ErrorModel
from rooftile.ops.problem import AnyArray, Array, Dtype, Problem

_SHRUNK = 2**20


@dataclass(frozen=True)
class SegmentedScan(Problem):
    """x[count] scanned within segments, of which ``offsets[segments + 1]`` says where they begin.

    ``exclusive``: without the element itself, so that the first result of a segment is the
    operator's identity.  Raises `InputError` for a dtype that the operator does not combine, an
    operator that is not associative, and no elements or segments.
    """

    operation: ClassVar[str] = "segmented_scan"
    words: ClassVar[str] = (
        "{count} {dtype} in {segments} segments, {operator}{exclusive?, exclusive|}"
    )

    count: int
    segments: int
    dtype: Dtype = "float32"
    operator: Operator = SUM
    exclusive: bool = False
    index: Literal["int32", "int64"] = "int64"
    """The dtype of the offsets."""

    def __post_init__(self) -> None:
        check_positive(count=self.count, segments=self.segments)
        combining.check(self.operator, self.dtype)
        if self.index not in ("int32", "int64"):
            raise InputError("index", repr(self.index), "int32 or int64")

    @cached_property
    def arrays(self) -> tuple[Array, ...]:
        """x[count], offsets[segments + 1] and y[count]."""
        made = self.operator.result(self.dtype)
        return (
            Array("x", (self.count,), self.dtype),
            Array("offsets", (self.segments + 1,), self.index),
            Array("y", (self.count,), made, role="output"),
        )

    @property
    def carried(self) -> Dtype:
        """The dtype in which elements are combined."""
        return self.operator.carried(self.dtype)

    @property
    def reduction(self) -> int:
        """Elements of the longest segment that there may be."""
        return self.count

    @property
    def flops(self) -> int:
        """One combination for each element."""
        return self.count

    def reference(self, x: AnyArray, offsets: AnyArray) -> AnyArray:
        """In float64 of numbers, in more of float64; exact of integers, which wrap around."""
        given = combining.wide(self.operator, self.dtype, x)
        made = np.empty_like(given)
        for first, last in itertools.pairwise(offsets):
            if first == last:
                continue
            one = combining.scanned(self.operator, given[first:last])
            if self.exclusive:
                one = np.concatenate([one[:1], one[:-1]])
                one[0] = self.operator.identity_in(self.carried)
            made[first:last] = one
        return made

    def magnitude(self, x: AnyArray, offsets: AnyArray) -> AnyArray:
        return combining.magnitude(self.operator, lambda of: self.reference(of, offsets), x)

    def judgement(self, output: Array, model: ErrorModel) -> Judgement:
        """Exactly, where nothing is rounded."""
        return combining.judgement(self.operator, output, self.reduction)

    def random(self, seed: int) -> tuple[AnyArray, ...]:
        """Segments of any length, some of them empty, and of one element."""
        generator = np.random.default_rng(seed)
        x, _ = combining.tame(self.operator, self.count, super().random(seed))
        inside = generator.integers(0, self.count + 1, self.segments - 1)
        # Every tenth segment is empty, or has one element.
        inside[1::10] = inside[: len(inside[1::10])]
        inside[2::10] = np.minimum(inside[: len(inside[2::10])] + 1, self.count)
        return x, self._offsets(np.sort(inside))

    def hard(self, seed: int) -> Mapping[str, tuple[AnyArray, ...]]:
        """See `Problem.hard`; and one segment of all elements, with all others empty after it."""
        x, offsets = self.random(seed)
        kinds = combining.hard(self.operator, super().hard(seed), (x, offsets))
        long = self._offsets(np.full(self.segments - 1, self.count))
        return {
            **{kind: (given[0], offsets) for kind, given in kinds.items()},
            "one segment": (x, long),
        }

    def altered(self, arrays: Sequence[AnyArray], which: int, seed: int) -> tuple[AnyArray, ...]:
        x, offsets = arrays
        if which == 1:
            return x, self.random(seed + 1)[1]
        changed, place = x.copy(), np.random.default_rng(seed).integers(self.count)
        changed[place] = combining.other(self.operator, changed[place])
        return changed, offsets

    def shrunk(self) -> SegmentedScan:
        count = min(self.count, _SHRUNK)
        segments = max(1, self.segments * count // self.count)
        return dataclasses.replace(self, count=count, segments=segments)

    def neighbours(self) -> tuple[SegmentedScan, ...]:
        sizes = ((917, 31), (65537, 3), (10007, 20011), (4099, 1))
        return tuple(dataclasses.replace(self, count=n, segments=s) for n, s in sizes)

    def smallest(self) -> tuple[SegmentedScan, ...]:
        return (dataclasses.replace(self, count=1, segments=1),)

    def _offsets(self, inside: AnyArray) -> AnyArray:
        return np.concatenate([[0], inside, [self.count]]).astype(self.index)


NAMED = {
    "sum-2^20-in-1000": SegmentedScan(2**20, 1000),
    "sum-2^28-in-10000": SegmentedScan(2**28, 10_000),
    "sum-2^28-in-10^6": SegmentedScan(2**28, 10**6),
}
LARGE = Climbed.of("sum-2^28-in-10000")
