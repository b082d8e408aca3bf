"""`segmented_reduce`: each segment of an array combined on its own.

``y[s] = x[offsets[s]] op ... op x[offsets[s + 1] - 1]``; an empty segment gives the identity.
Offsets rise from 0 to the number of elements.

Source: Blelloch, "Prefix Sums and Their Applications" (CMU, 1990), section 1.5; Merrill and
Garland, "Merge-Based Parallel Sparse Matrix-Vector Multiplication", SC 2016 (segments of all
lengths shared out evenly).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np

from rooftile.errors import InputError
from rooftile.ops.checks import check_positive
from rooftile.ops.climbed import Climbed
from rooftile.ops.judgement import Budget, Exact, Judgement
from rooftile.ops.operator import SUM, Operator
from rooftile.ops.patterns.reduce import Reduce, folded
from rooftile.ops.precision import ErrorModel
from rooftile.ops.problem import DTYPES, AnyArray, Array, Dtype, Problem

_SHRUNK = 2**18


@dataclass(frozen=True)
class SegmentedReduce(Problem):
    """x[count], offsets[segments + 1] and results[segments].

    Raises `InputError` for a size below 1 and for a dtype that the operator does not combine.
    """

    operation: ClassVar[str] = "segmented_reduce"
    words: ClassVar[str] = "{count} {dtype} in {segments} segments, {operator}"

    count: int
    segments: int
    dtype: Dtype = "float32"
    operator: Operator = SUM
    offsets: Literal["int64", "int32"] = "int64"

    def __post_init__(self) -> None:
        check_positive(count=self.count, segments=self.segments)
        if self.dtype not in DTYPES:
            raise InputError("dtype", self.dtype, f"one of {list(DTYPES)}")
        if self.offsets not in ("int64", "int32"):
            raise InputError("offsets", f"dtype {self.offsets}", "int64 or int32")
        reason = self.operator.why_not(self.dtype)
        if reason is not None:
            raise InputError("operator", repr(self.operator), f"one of {self.dtype}: {reason}")

    @cached_property
    def arrays(self) -> tuple[Array, ...]:
        """x, offsets and results."""
        made = self.operator.result(self.dtype)
        return (
            Array("x", (self.count,), self.dtype),
            Array("offsets", (self.segments + 1,), self.offsets),
            Array("results", (self.segments,), made, role="output"),
        )

    @property
    def carried(self) -> Dtype:
        """The dtype in which elements are combined."""
        return self.operator.carried(self.dtype)

    @property
    def flops(self) -> int:
        """One combination for each element."""
        return self.count

    def reference(self, x: AnyArray, offsets: AnyArray) -> AnyArray:
        """Segment by segment, as `Reduce` does it."""
        given = self._whole.wide(x)
        made = np.full(self.segments, self.operator.identity_in(self.carried), given.dtype)
        some = np.flatnonzero(np.diff(offsets))
        if self.operator.ufunc is not None:
            made[some] = self.operator.ufunc.reduceat(given, offsets[some], dtype=given.dtype)
            return made
        for s in some:
            made[s] = folded(self.operator, given[offsets[s] : offsets[s + 1]])
        return made

    def magnitude(self, x: AnyArray, offsets: AnyArray) -> AnyArray:
        """The magnitude of `Reduce`, times the root of the segment's length: no two have the same
        budget."""
        lengths = np.maximum(np.diff(offsets), 1).astype(np.float64)
        made = np.abs(self.reference(x, offsets)).astype(np.float64)
        if self.operator != SUM:
            return np.asarray(made * lengths)
        sums = np.abs(self.reference(np.abs(x), offsets)).astype(np.float64)
        return np.asarray(sums * np.sqrt(lengths))

    def judgement(self, output: Array, model: ErrorModel) -> Judgement:
        """Exactly, where nothing is rounded; `magnitude` knows the lengths."""
        exact = self.operator.selects or output.numpy.kind in "iub"
        return Exact() if exact else Budget(1)

    def random(self, seed: int) -> tuple[AnyArray, ...]:
        """See `Problem.random`: some segments are empty, and some are ten times the average."""
        generator = np.random.default_rng(seed)
        lengths = generator.lognormal(0, 1.5, self.segments)
        lengths[generator.random(self.segments) < 1 / 8] = 0
        rising = np.concatenate([[0.0], np.cumsum(lengths)])
        whole = rising[-1] or 1.0
        offsets = np.floor(rising / whole * self.count).astype(self.offsets)
        offsets[-1] = self.count
        (x,) = self._whole.random(seed)
        return (x, offsets)

    def hard(self, seed: int) -> Mapping[str, tuple[AnyArray, ...]]:
        """The hard inputs of `Reduce`; one segment that holds everything, and segments of one
        element."""
        x, offsets = self.random(seed)
        kinds = {kind: (given, offsets) for kind, (given,) in self._whole.hard(seed).items()}
        last = np.zeros_like(offsets)
        last[-1] = self.count
        single = np.minimum(np.arange(self.segments + 1), self.count).astype(self.offsets)
        single[-1] = self.count
        return {**kinds, "the last segment alone": (x, last), "one each": (x, single)}

    def altered(self, arrays: Sequence[AnyArray], which: int, seed: int) -> tuple[AnyArray, ...]:
        x, offsets = arrays
        if which == 0:
            return (*self._whole.altered((x,), 0, seed), offsets)
        moved = offsets.copy()
        inside = np.flatnonzero(moved[1:-1] > moved[:-2]) + 1
        if inside.size:
            moved[np.random.default_rng(seed).choice(inside)] -= 1
        return (x, moved)

    def shrunk(self) -> SegmentedReduce:
        share = max(1, self.count // _SHRUNK)
        segments = max(1, self.segments // share)
        return dataclasses.replace(self, count=self.count // share, segments=segments)

    def neighbours(self) -> tuple[SegmentedReduce, ...]:
        sizes = ((10_007, 997), (10_007, 3), (131, 1000))
        return tuple(dataclasses.replace(self, count=n, segments=s) for n, s in sizes)

    def smallest(self) -> tuple[SegmentedReduce, ...]:
        return (dataclasses.replace(self, count=1, segments=1),)

    @property
    def _whole(self) -> Reduce:
        """The reduction of all elements."""
        return Reduce((self.count,), None, self.dtype, self.operator)


NAMED = {
    "mean-8": SegmentedReduce(10**7, 10**7 // 8),
    "mean-1000": SegmentedReduce(10**7, 10**4),
    "mean-1000-10^8": SegmentedReduce(10**8, 10**5),
    "mean-8-2^28": SegmentedReduce(2**28, 2**25),
    "mean-1000-2^28": SegmentedReduce(2**28, 2**18),
    "mean-50000-2^28": SegmentedReduce(2**28, 5369),
}
"""Named problems, by the mean length of a segment."""
LARGE = Climbed.of("mean-1000-10^8")
