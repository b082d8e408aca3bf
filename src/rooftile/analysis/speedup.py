"""Speed-up and its limits.

Source: PMPP, section 1.3 (Amdahl's law); Amdahl (1967); Gustafson, "Reevaluating Amdahl's
law", CACM 31 (1988); Sun, Ni, "Scalable problems and memory-bounded speedup", JPDC 19 (1993).
"""

from __future__ import annotations

import math

from rooftile.analysis._checks import check_above_zero, check_share
from rooftile.errors import InputError


def speedup(before: float, after: float) -> float:
    """Time before over time after."""
    check_above_zero(before=before, after=after)
    return before / after


def efficiency(before: float, after: float, processors: float) -> float:
    """Speed-up a processor."""
    check_above_zero(processors=processors)
    return speedup(before, after) / processors


def percent_saved(before: float, after: float) -> float:
    """100 (before - after) / before."""
    check_above_zero(before=before, after=after)
    return 100 * (before - after) / before


def amdahl(parallel: float, processors: float) -> float:
    """Fixed-size speed-up: 1 / (1 - p + p / n) for a share p of the time."""
    check_share(parallel=parallel)
    check_above_zero(processors=processors)
    return 1 / (1 - parallel + parallel / processors)


def amdahl_limit(parallel: float) -> float:
    """The limit of `amdahl`: 1 / (1 - p); infinite where everything is parallel."""
    check_share(parallel=parallel)
    return math.inf if parallel == 1 else 1 / (1 - parallel)


def part_speedup(total_s: float, part_s: float, factor: float) -> float:
    """Speed-up of the whole where one part's time shrinks by a factor.

    total / (total - part + part / factor).
    """
    check_above_zero(total_s=total_s, factor=factor)
    if not 0 <= part_s <= total_s:
        raise InputError("part_s", part_s, f"from 0 to the whole, {total_s}")
    return total_s / (total_s - part_s + part_s / factor)


def gustafson(parallel: float, processors: float) -> float:
    """Time-constrained (scaled) speed-up: 1 - p + p n.

    p is the parallel share of the time on n processors; the work grows so that the time does
    not.
    """
    return memory_constrained(parallel, processors, processors)


def memory_constrained(parallel: float, processors: float, growth: float) -> float:
    """Sun and Ni's: (1 - p + p g) / (1 - p + p g / n).

    The parallel work grows by g = G(n) as n processors have n times the memory: g = 1 is Amdahl's
    law, g = n Gustafson's.
    """
    check_share(parallel=parallel)
    check_above_zero(processors=processors, growth=growth)
    serial, work = 1 - parallel, parallel * growth
    return (serial + work) / (serial + work / processors)
