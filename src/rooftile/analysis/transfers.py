"""Links between host and device, copies, and their overlap with kernels.

Source: PMPP, section 20.5 (overlapping computation and communication); PCI-SIG's
line rates and encodings.
Rates are in GB/s, times in seconds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rooftile.analysis._checks import check_above_zero, check_not_negative
from rooftile.errors import InputError
from rooftile.ops.checks import check_positive

PCIE = {
    1: (2.5, (8, 10)),
    2: (5.0, (8, 10)),
    3: (8.0, (128, 130)),
    4: (16.0, (128, 130)),
    5: (32.0, (128, 130)),
    6: (64.0, (242, 256)),
}
"""By generation: 1e9 transfers a second and lane, and payload bits over line bits."""

Engines = Literal[0, 1, 2]
"""Copy engines: 2 copy in and out at once, 1 copies one way at a time, 0 overlaps nothing."""
_COPIES = ("h2d", "d2h")


def pcie_bandwidth(gt_s: float, encoding: tuple[int, int], lanes: int) -> float:
    """One-way GB/s: transfers/s x lanes x payload bits / line bits / 8.  See `PCIE`."""
    check_above_zero(gt_s=gt_s)
    check_positive(payload_bits=encoding[0], line_bits=encoding[1], lanes=lanes)
    return gt_s * lanes * encoding[0] / encoding[1] / 8


def parallel_bus_mb_s(clock_mhz: float, width_bits: int) -> float:
    """Peak MB/s of a parallel bus: clock x width / 8."""
    check_above_zero(clock_mhz=clock_mhz)
    check_positive(width_bits=width_bits)
    return clock_mhz * width_bits / 8


def code_balance(word_bits: int, data_bits: int) -> tuple[int, int]:
    """Least and most ones in a balanced code's words: the narrowest symmetric range that serves.

    The least range [w/2 - d, w/2 + d] with sum of C(w, i) over it >= 2^data_bits; 8b/10b has
    4 to 6.
    """
    check_positive(word_bits=word_bits, data_bits=data_bits)
    for low in range(word_bits // 2, -1, -1):
        high = word_bits - low
        if sum(math.comb(word_bits, i) for i in range(low, high + 1)) >= 2**data_bits:
            return low, high
    raise InputError("data_bits", data_bits, f"at most the word's, {word_bits}")


def gpu_speedup(
    cpu_s: float, kernel_s: float, in_bytes: float, out_bytes: float, link_gb_s: float
) -> float:
    """CPU time over kernel time with the copies in and out before and after it.

    With no bytes to copy: the speed-up without transfers.
    """
    check_above_zero(cpu_s=cpu_s, kernel_s=kernel_s, link_gb_s=link_gb_s)
    check_not_negative(in_bytes=in_bytes, out_bytes=out_bytes)
    return cpu_s / (kernel_s + 1e-9 * (in_bytes + out_bytes) / link_gb_s)


@dataclass(frozen=True)
class Pipeline:
    """Copy in, launch and compute, copy out: seconds of the whole, to be cut into segments."""

    in_s: float
    compute_s: float
    out_s: float
    overhead_s: float = 0.0
    """Seconds of each segment's launch, which occupies the compute stage."""

    def __post_init__(self) -> None:
        check_not_negative(
            in_s=self.in_s, compute_s=self.compute_s, out_s=self.out_s, overhead_s=self.overhead_s
        )

    def seconds(self, segments: int, engines: Engines = 2) -> float:
        """Time of n equal segments, whose stages take a, b and c. 2 engines: a + b + c + (n
        - 1) max(a, b, c). 0: n (a + b + c). 1: copies take turns in the order in 1, in 2, out 1, in
        3, out 2, ..., which is followed step by step."""
        check_positive(segments=segments)
        n = segments
        a, b, c = self.in_s / n, self.overhead_s + self.compute_s / n, self.out_s / n
        if engines == 2:
            return a + b + c + (n - 1) * max(a, b, c)
        if engines == 0:
            return n * (a + b + c)
        if engines == 1:
            return _one_engine(a, b, c, n)
        raise InputError("engines", engines, "0, 1 or 2")

    def best_segments(self) -> tuple[int, ...]:
        """The numbers of segments of least time with two engines; several where they tie.

        While a copy is the longest stage, T(n) falls with n; once compute is, T(n) = compute + n
        overhead + (in + out) / n, least near sqrt((in + out) / overhead). So the best n is next to
        that root or next to the n from which compute is longest, n = (longest copy - compute) /
        overhead.  Raises `InputError` without an overhead: then more segments are always better.
        """
        check_above_zero(overhead_s=self.overhead_s)
        root = math.sqrt((self.in_s + self.out_s) / self.overhead_s)
        takes_over = (max(self.in_s, self.out_s) - self.compute_s) / self.overhead_s
        near = {
            max(1, math.floor(at) + shift) for at in (root, takes_over) for shift in (-1, 0, 1, 2)
        }
        times = {n: self.seconds(n) for n in near}
        least = min(times.values())
        return tuple(sorted(n for n, t in times.items() if math.isclose(t, least, rel_tol=1e-12)))


def overhead_threshold(in_s: float, out_s: float, more: int, fewer: int) -> float:
    """Overhead of a segment above which ``fewer`` segments beat ``more``, compute-bound.

    Where compute + n overhead + (in + out) / n is equal for both:
    (in + out) (1 / fewer - 1 / more) / (more - fewer) = (in + out) / (more fewer).
    """
    check_not_negative(in_s=in_s, out_s=out_s)
    check_positive(more=more, fewer=fewer)
    if fewer >= more:
        raise InputError("fewer", fewer, f"less than {more}")
    return (in_s + out_s) / (more * fewer)


Operation = tuple[str, int]
"""``h2d``, ``d2h`` or ``kernel``, and the stream that it is issued to."""
Pair = tuple[int, int]


def overlapping_copies(ops: Sequence[Operation], *, issue_order: bool = True) -> list[Pair]:
    """Pairs of copies, by their numbers from 1, that can run at once, one engine a direction.

    They must differ in stream and direction.  With ``issue_order``, also, neither may wait for
    the other: each stream and each engine serves its operations in the order of their issue,
    and waiting passes on.
    """
    for kind, _ in ops:
        if kind not in (*_COPIES, "kernel"):
            raise InputError("ops", repr(kind), "h2d, d2h or kernel")
    awaited: list[set[int]] = []
    for i, (kind, stream) in enumerate(ops):
        before = {j for j in range(i) if ops[j][0] == kind or ops[j][1] == stream}
        awaited.append(before.union(*(awaited[j] for j in before)))
    return [
        (i + 1, j + 1)
        for j, (kind, stream) in enumerate(ops)
        for i in range(j)
        if {ops[i][0], kind} == set(_COPIES)
        and ops[i][1] != stream
        and not (issue_order and i in awaited[j])
    ]


def _one_engine(a: float, b: float, c: float, n: int) -> float:
    copied, computed = a, a + b
    for _ in range(n - 1):
        copied += a
        done, computed = computed, max(copied, computed) + b
        copied = max(copied, done) + c
    return max(copied, computed) + c
