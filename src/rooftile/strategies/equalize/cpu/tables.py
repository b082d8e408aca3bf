"""`tables`: parts of the picture over the cores, neighbours in different tables.

The weights are hundredths, so that the weighted sum is an integer, which is rounded without an
error. Where it is half-way between two levels, double precision decides as the rule says it; that
is one colour in a hundred. An increment waits for the one before where both go to one bin, so
neighbours count in different tables.

Source: PMPP, section 9.4 (privatization).
"""

from __future__ import annotations

from collections.abc import Callable

from rooftile.analysis.accesses import Accesses, Counted
from rooftile.analysis.cooperation import through
from rooftile.devices.cpu.native import native
from rooftile.ops import AnyArray
from rooftile.ops.patterns.equalize import LEVELS, Equalize
from rooftile.strategies import HostStrategy
from rooftile.strategies.equalize.cpu._levels import equalizing, exact_level

_COPIES = 4
_MOST_PARTS = 16
_PART = 4096
"""Least pixels of a part."""


@native
def level_of(red, green, blue):  # type: ignore[no-untyped-def]
    """The gray level of a colour."""
    hundredths = 21 * red + 71 * green + 7 * blue + 50
    level = hundredths // 100
    if level * 100 == hundredths:
        return exact_level(red, green, blue)
    return level


@native
def count_levels(image, tables, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Units are parts, each with tables of its own."""
    pixels, channels, parts = sizes[0], sizes[1], sizes[2]
    for part in range(begin, end):
        first, last = pixels * part // parts, pixels * (part + 1) // parts
        table = part * 1024
        if channels == 3:
            for i in range(first, last):
                level = level_of(image[3 * i], image[3 * i + 1], image[3 * i + 2])
                tables[table + 256 * (i & 3) + level] += 1
        else:
            for i in range(first, last):
                tables[table + 256 * (i & 3) + image[i]] += 1


class Tables(HostStrategy):
    """Takes every problem."""

    operation = "equalize"
    name = "tables"
    summary = "parts over the cores, neighbours in different tables, sums of hundredths"

    def units(self, problem: Equalize) -> int:
        return max(1, min(_MOST_PARTS, problem.pixels // _PART))

    def prepare(
        self, problem: Equalize, parameters: tuple[AnyArray, ...], threads: int
    ) -> Callable[..., None]:
        return equalizing(problem, count_levels, _COPIES, self.units(problem), threads)

    def accesses(self, problem: Equalize) -> Counted:
        """Pixels are counted, neighbours in different tables; then every byte is looked up."""
        pixels, bytes_ = problem.pixels, problem.channels * problem.pixels
        equal = pixels / (self.units(problem) * _COPIES)
        evenly = max(1.0, equal / LEVELS)
        turns = Accesses(turns=evenly, turns_if_equal=equal)
        return {
            "counts of levels": through(bytes_, pixels, pixels, evenly) + turns,
            "bytes by the table": through(2 * bytes_, bytes_, bytes_, 1),
        }


STRATEGY = Tables()
