"""`loops`: one pixel after the other, as the rule says it, on one thread."""

from __future__ import annotations

from collections.abc import Callable

from rooftile.analysis.accesses import Accesses, Counted
from rooftile.analysis.cooperation import through
from rooftile.devices.cpu.native import native
from rooftile.ops import AnyArray
from rooftile.ops.patterns.equalize import LEVELS, Equalize
from rooftile.strategies import HostStrategy
from rooftile.strategies.equalize.cpu._levels import equalizing, exact_level


@native
def count_levels(image, tables, sizes, begin, end):  # type: ignore[no-untyped-def]
    """There is one unit and one table."""
    for i in range(sizes[0]):
        if sizes[1] == 3:
            tables[exact_level(image[3 * i], image[3 * i + 1], image[3 * i + 2])] += 1
        else:
            tables[image[i]] += 1


class Loops(HostStrategy):
    """Takes every problem."""

    operation = "equalize"
    name = "loops"
    parallel = False
    summary = "one pixel after the other, in double precision, on one thread"

    def prepare(
        self, problem: Equalize, parameters: tuple[AnyArray, ...], threads: int
    ) -> Callable[..., None]:
        return equalizing(problem, count_levels, 1, 1, 1)

    def accesses(self, problem: Equalize) -> Counted:
        """Pixels are counted; then every byte is looked up."""
        pixels, bytes_ = problem.pixels, problem.channels * problem.pixels
        evenly, equal = max(1.0, pixels / LEVELS), pixels
        turns = Accesses(turns=evenly, turns_if_equal=equal)
        return {
            "counts of levels": through(bytes_, pixels, pixels, evenly) + turns,
            "bytes by the table": through(2 * bytes_, bytes_, bytes_, 1),
        }


STRATEGY = Loops()
