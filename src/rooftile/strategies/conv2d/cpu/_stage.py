"""Copy the input rows behind a band of outputs into scratch, padded and phase by phase.

Staging turns ghost cells into numbers that are really there and a horizontal stride
into contiguous columns, so that a vector kernel needs no special case.  Column j
of phase p holds input column ``j * stride + p - padding``.

A row's last vector also loads columns that no output needs.  They are zeros too: what
malloc left there could be subnormal, and each multiplication of such numbers takes
an Intel processor some 150 cycles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeVar

from rooftile.devices.cpu.emit import Writer
from rooftile.ops import Conv2d


@dataclass(frozen=True)
class Staged:
    """Addresses of the taps of one input row, in the image itself or in scratch."""

    problem: Conv2d
    rows: int
    """Input rows behind a band."""
    vectors: int
    """Vectors that cover the convolution outputs of a row."""
    lanes: int
    whole: bool = False
    """True if rows are staged also where the image itself would do."""

    @property
    def needed(self) -> bool:
        """True if the kernel reads a staged copy at all."""
        return self.whole or self.problem.is_padded or self.problem.stride[1] > 1

    @property
    def columns(self) -> int:
        """Columns of one phase that outputs need."""
        return self.problem.conv_span[1] + (self.problem.extent[1] - 1) // self.problem.stride[1]

    @property
    def reach(self) -> int:
        """Columns of one phase that whole vectors read, all of which are written."""
        return self.vectors * self.lanes + (self.problem.extent[1] - 1) // self.problem.stride[1]

    @property
    def phase(self) -> int:
        """Distance between phases: a whole number of cache lines."""
        return -(-self.reach // 16) * 16

    @property
    def row(self) -> int:
        """Distance between rows."""
        if not self.needed:
            return self.problem.width
        return self.phase * min(self.problem.stride[1], self.problem.extent[1])

    @property
    def plane(self) -> int:
        """Distance between channels."""
        return (self.rows if self.needed else self.problem.height) * self.row

    @property
    def size(self) -> int:
        """float32 of scratch."""
        return self.problem.channels * self.plane if self.needed else 0

    def column(self, tap: str) -> str:
        """Offset, within a row, of a tap given by an expression."""
        stride = self.problem.stride[1]
        if stride == 1:
            return tap
        if tap.isdigit():
            return str(int(tap) % stride * self.phase + int(tap) // stride)
        return f"({tap} % {stride} * {self.phase} + {tap} // {stride})"

    def emit(self, to: Writer, image: str, first_row: str, start: int = 0) -> None:
        """Write the copy of all channels to scratch from ``start``: ``image`` is the image's
        offset in x, ``first_row`` a row of the convolution."""
        with to.block(f"for c in range({self.problem.channels}):"):
            self.emit_channel(to, image, first_row, f"{start} + c * {self.plane}")

    def emit_channel(self, to: Writer, image: str, first_row: str, start: str) -> None:
        """Write the copy of channel ``c`` to scratch from ``start``."""
        p = self.problem
        with to.block(f"for r in range({self.rows}):"):
            to.line(f"i = ({first_row}) * {p.stride[0]} + r - {p.padding[0]}")
            to.line(f"t = {start} + r * {self.row}")
            if self._replicates:
                to.line(f"i = min(max(i, 0), {p.height - 1})")
                self._emit_line(to, image)
                return
            with (
                to.block(f"if i < 0 or i >= {p.height}:"),
                to.block(f"for j in range(0, {self.row}, {self.lanes}):"),
            ):
                to.line(f"store(scratch, t + j, {_ZERO})")
            with to.block("else:"):
                self._emit_line(to, image)

    @property
    def _replicates(self) -> bool:
        return self.problem.ghosts == "replicate"

    def _emit_line(self, to: Writer, image: str) -> None:
        """Write the copy of row ``i``, phase by phase."""
        p = self.problem
        to.line(f"s = {image} + (c * {p.height} + i) * {p.width}")
        if p.stride[1] == 1:
            self._emit_vectors(to)
        elif p.stride[1] == 2:
            self._emit_pairs(to)
        elif self._phases <= _WRITTEN_OUT:
            for phase in range(self._phases):
                self._emit_phase(to, phase)
        else:
            self._emit_any_phase(to)

    @property
    def _phases(self) -> int:
        """Phases that the mask reads."""
        return min(self.problem.stride[1], self.problem.extent[1])

    def _emit_vectors(self, to: Writer) -> None:
        """Write the copy of a row as it is, with its ghost cells: whole vectors. Those that hold
        columns of the image alone are copied by a loop."""
        p, lanes = self.problem, self.lanes
        count = -(-self.reach // lanes)
        begin = min(count, -(-p.padding[1] // lanes))
        end = max(begin, min(count, (p.width + p.padding[1]) // lanes))
        self._emit_outside(to, range(begin))
        if begin < end:
            with to.block(f"for j in range({begin * lanes}, {end * lanes}, {lanes}):"):
                to.line(f"store(scratch, t + j, load(x, s + j - {p.padding[1]}))")
        self._emit_outside(to, range(end, count))

    def _emit_outside(self, to: Writer, vectors: range) -> None:
        """Write the vectors of a row that hold ghost cells; a loop writes equal ones."""
        for values in _runs([(self._padded(k), k) for k in vectors]):
            (value, first), count = values[0], len(values)
            with to.loop("j", count) as j:
                to.line(f"store(scratch, t + {first * self.lanes} + {j} * {self.lanes}, {value})")

    def _emit_pairs(self, to: Writer) -> None:
        """Write the even and the odd columns of a row and its ghost cells, in whole vectors. A loop
        writes the pairs of vectors that hold columns of the image alone, and another each run of
        pairs that hold ghost cells alone."""
        p, lanes = self.problem, self.lanes
        count = -(-self.reach // lanes)
        begin = min(count, -(-p.padding[1] // (2 * lanes)))
        end = max(begin, min(count, (p.width + p.padding[1]) // (2 * lanes)))
        self._emit_outer_pairs(to, range(begin))
        if begin < end:
            with to.block(f"for k in range({begin}, {end}):"):
                at = f"s + k * {2 * lanes} - {p.padding[1]}"
                to.line(f"low = load(x, {at})", f"high = load(x, {at} + {lanes})")
                self._emit_pair(to, f"k * {lanes}")
        self._emit_outer_pairs(to, range(end, count))

    def _emit_outer_pairs(self, to: Writer, pairs: range) -> None:
        """Write the pairs of vectors of a row that hold ghost cells."""
        for same in _runs([((self._padded(2 * k), self._padded(2 * k + 1)), k) for k in pairs]):
            (values, first), count = same[0], len(same)
            to.line(f"low = {values[0]}", f"high = {values[1]}")
            with to.loop("k", count) as k:
                self._emit_pair(to, f"{first * self.lanes} + {k} * {self.lanes}")

    def _emit_pair(self, to: Writer, at: str) -> None:
        """Write the even and the odd numbers of the vectors ``low`` and ``high``."""
        for phase, word in enumerate(("even", "odd")[: self.problem.extent[1]]):
            to.line(f"store(scratch, t + {phase * self.phase} + {at}, {word}(low, high))")

    def _padded(self, k: int) -> str:
        """An expression of vector ``k`` of a row with its ghost cells."""
        p, lanes = self.problem, self.lanes
        before, after = _ZERO, _ZERO
        if self._replicates:
            before, after = "splat_at(x, s)", f"splat_at(x, s + {p.width - 1})"
        first = k * lanes - p.padding[1]
        """The image's column in the first lane."""
        if first <= -lanes:
            return before
        if first >= p.width:
            return after
        start, ghosts = max(first, 0), max(-first, 0)
        count = min(lanes - ghosts, p.width - start)
        found = f"load_part(x, s + {start}, {count})" if count < lanes else f"load(x, s + {start})"
        if count < lanes - ghosts and self._replicates:
            found = f"joined({count}, {found}, {after})"
        return f"lifted({found}, {before}, {ghosts})" if ghosts else found

    def _emit_phase(self, to: Writer, phase: int) -> None:
        """Write the copy of the columns of a phase of the stride, one by one."""
        p, stride = self.problem, self.problem.stride[1]
        # Columns of this phase that lie inside the image: first to last - 1.
        first = max(0, -(-(p.padding[1] - phase) // stride))
        last = max(first, min(self.columns, (p.width - 1 + p.padding[1] - phase) // stride + 1))
        at = f"t + {phase * self.phase}"
        if self._replicates:
            _emit_fill(to, at, 0, min(first, self.columns), "x[s]")
            _emit_fill(to, at, last, self.columns, f"x[s + {p.width - 1}]")
        else:
            _emit_fill(to, at, 0, first)
        _emit_fill(to, at, max(last, self.columns if self._replicates else 0), self.reach)
        if first < last:
            with to.block(f"for j in range({last - first}):"):
                offset = first * stride + phase - p.padding[1]
                to.line(f"scratch[{at} + {first} + j] = x[s + {offset} + j * {stride}]")

    def _emit_any_phase(self, to: Writer) -> None:
        """Write the same copy of all phases by a loop over them: their columns one by one."""
        p, stride = self.problem, self.problem.stride[1]
        outside = f"x[s + max(0, min({p.width - 1}, at))]" if self._replicates else "float32(0.0)"
        with (
            to.block(f"for phase in range({self._phases}):"),
            to.block(f"for j in range({self.reach}):"),
        ):
            to.line(f"at = j * {stride} + phase - {p.padding[1]}", "value = float32(0.0)")
            with to.block(f"if at >= 0 and at < {p.width}:"):
                to.line("value = x[s + at]")
            with to.block(f"elif j < {self.columns}:"):
                to.line(f"value = {outside}")
            to.line(f"scratch[t + phase * {self.phase} + j] = value")


_ZERO = "splat(float32(0.0))"
_WRITTEN_OUT = 8
"""Phases whose copies are written out, each with loops of its own; a loop takes more of them."""

_Value = TypeVar("_Value")


def _runs(values: Sequence[tuple[_Value, int]]) -> list[list[tuple[_Value, int]]]:
    """Neighbours with equal values together."""
    return [list(same) for _, same in groupby(values, key=lambda pair: pair[0])]


def _emit_fill(to: Writer, at: str, begin: int, end: int, value: str = "0.0") -> None:
    """Write the same number into columns ``begin`` to ``end - 1``."""
    if begin < end:
        with to.block(f"for j in range({begin}, {end}):"):
            to.line(f"scratch[{at} + j] = {value}")
