"""`two_pass`: parts of every line are combined by all cores, then scanned by all cores.

x is read twice; in return the cores work at once. Parts follow from the problem and not from the
threads, so that results do not depend on the machine.

Source: PMPP, section 11.6.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rooftile._locks import lock
from rooftile.analysis.accesses import Counted
from rooftile.analysis.cooperation import through
from rooftile.devices import cpu
from rooftile.ops import AnyArray
from rooftile.ops.features import features
from rooftile.ops.patterns.scan import Scan
from rooftile.ops.problem import numpy_dtype
from rooftile.strategies import HostStrategy
from rooftile.strategies.common.scan_kernels import scanning

_UNITS = 64
"""Parts of all lines together, so that every core has some."""
_PART = 4096
"""Least elements of a part."""

_SUMS = """
def kernel(x, sums, sizes, begin, end):
    count, inner, parts = sizes[0], sizes[1], sizes[2]
    for unit in range(begin, end):
        line, part = unit // parts, unit % parts
        first, last = count * part // parts, count * (part + 1) // parts
        at = first_of(line, count, inner) + first * step_of(inner)
        high = IDENTITY
        low = ZERO
        for element in range(first, last):
            value = CARRIED(x[at])
            low += lost_in(high, value)
            high = combined(high, value)
            at += step_of(inner)
        sums[2 * unit] = high
        sums[2 * unit + 1] = low
"""
_SCANS = """
def kernel(x, sums, y, sizes, begin, end):
    count, inner, parts = sizes[0], sizes[1], sizes[2]
    for unit in range(begin, end):
        line, part = unit // parts, unit % parts
        first, last = count * part // parts, count * (part + 1) // parts
        at = first_of(line, count, inner) + first * step_of(inner)
        high = IDENTITY
        low = ZERO
        for earlier in range(line * parts, unit):
            value = CARRIED(sums[2 * earlier])
            low += lost_in(high, value) + CARRIED(sums[2 * earlier + 1])
            high = combined(high, value)
        for element in range(first, last):
            before = value_of(high, low)
            value = CARRIED(x[at])
            low += lost_in(high, value)
            high = combined(high, value)
            y[at] = before if EXCLUSIVE else value_of(high, low)
            at += step_of(inner)
"""


class TwoPass(HostStrategy):
    """Takes every associative operator."""

    operation = "scan"
    name = "two_pass"
    summary = "parts of lines are combined, then scanned, by all cores"
    takes = features("axis dtype:* exclusive operator.commutative operator:* reverse")

    def units(self, problem: Scan) -> int:
        return problem.lines * _parts(problem)

    def prepare(
        self, problem: Scan, parameters: tuple[AnyArray, ...], threads: int
    ) -> Callable[..., None]:
        carried, made = problem.carried, problem.output_arrays[0].dtype
        way, given = (problem.operator, carried, problem.exclusive), (problem.dtype, carried)
        combine = scanning("scan_sums", _SUMS, *way, given, problem.reverse)
        scan = scanning("scan_parts", _SCANS, *way, (*given, made), problem.reverse)
        sizes = np.array((problem.count, problem.inner, _parts(problem)), np.int64)
        units = self.units(problem)
        sums = cpu.aligned((2 * units,), numpy_dtype(carried), "sums of parts")
        turn = lock()

        def call(x: AnyArray, y: AnyArray) -> None:
            with turn:
                combine((x, sums), sizes, units, threads)
                scan((x, sums, y), sizes, units, threads)

        return call

    def accesses(self, problem: Scan) -> Counted:
        """Every element twice: for the sums of parts, then for the results."""
        count, parts = problem.lines * problem.count, _parts(problem)
        share, units = -(-problem.count // parts), self.units(problem)
        before = units * (parts - 1) // 2
        return {
            "sums of parts": through(count, 2 * units, count, share),
            "scans of parts": through(count + before, count, count + before, parts - 1 + share),
        }


def _parts(problem: Scan) -> int:
    """Parts of a line."""
    wanted = -(-_UNITS // problem.lines)
    return max(1, min(wanted, problem.count // _PART))


STRATEGY = TwoPass()
