"""Sorting networks, and merges of sorted runs.

Source: Batcher, "Sorting Networks and their Applications" (AFIPS 1968); Knuth, "The Art of Computer
Programming", volume 3, 5.3.4.
"""

from __future__ import annotations

from rooftile.analysis.accesses import (
    WARP,
    Accesses,
    Counted,
    beside,
    scattered_loads,
    stored_beside,
)
from rooftile.analysis.cooperation import chain
from rooftile.devices.gpu import Launch
from rooftile.ops.patterns.sort import Sort
from rooftile.strategies.common.grid import blocks, wide
from rooftile.strategies.contract.gpu import Config, Step
from rooftile.strategies.sort.gpu._base import BLOCKS, GpuSort, ends_of

_SECTION = 2048
"""Elements of a block."""


class OddEven(GpuSort):
    """Takes lines that fit into a block's shared memory.

    Source: Knuth, "The Art of Computer Programming", volume 3, 5.3.4, exercise 37 (odd-even
    transposition).
    """

    name = "odd_even"
    summary = "a block a line, neighbours are exchanged as often as there are elements"
    tunables = (BLOCKS,)

    def limits(self, problem: Sort) -> str | None:
        if problem.count > _SECTION:
            return f"{problem.count} elements in a line, at most {_SECTION}"
        return super().limits(problem)

    def macros(self, problem: Sort, config: Config) -> dict[str, int | str]:
        return {**super().macros(problem, config), "SECTION": _SECTION}

    def workspace(self, problem: Sort, config: Config) -> dict[str, int]:
        return {}

    def steps(self, problem: Sort, config: Config) -> tuple[Step, ...]:
        results = {
            "values": ("x", "y", "y"),
            "places": ("x", "places", "places"),
            "pairs": ("with_it", "y", "moved"),
        }
        with_it, to, moved = results[problem.gives]
        launch = Launch(self.kernel(), (problem.lines, 1, 1), (config["BLOCK"], 1, 1))
        arrays = "x", with_it, to, moved
        return (Step(launch, (*arrays, problem.count, *wide(problem.inner))),)

    def accesses(self, problem: Sort, config: Config) -> Counted:
        """As many rounds as elements, each of half as many comparisons of two keys with places;
        neighbours' pairs lie two words apart."""
        n, lines = problem.count, problem.lines
        compared = n * (n - 1) // 2 * lines
        rounds = n * blocks(blocks(n, 2), config["BLOCK"])
        reads = 4 * compared / WARP
        within = Accesses(shared_reads=reads, conflicts=reads) + chain(compared, rounds)
        return {self.kernel(): self.moved(problem, 1) + within}


class Bitonic(GpuSort):
    """Takes every problem."""

    name = "bitonic"
    summary = "a network of comparisons in one direction, a launch for each step"
    summing = "exchange"
    tunables = (BLOCKS,)

    def workspace(self, problem: Sort, config: Config) -> dict[str, int]:
        size = problem.lines * problem.count
        return {"keys": blocks(size * problem.key_bytes, 4), "along": size}

    def steps(self, problem: Sort, config: Config) -> tuple[Step, ...]:
        block, both = config["BLOCK"], wide(problem.count, problem.inner)
        grid = (problem.lines * blocks(problem.count, block), 1, 1)

        def launch(kernel: str) -> Launch:
            return Launch(kernel, grid, (block, 1, 1))

        steps = [Step(launch(self.kernel("begin")), ("x", "keys", "along", *both))]
        for level in range((problem.count - 1).bit_length()):
            for reach in reversed(range(level + 1)):
                numbers = wide(problem.count, 1 << reach)
                whole = int(reach == level)
                exchange = launch(self.kernel("exchange"))
                steps.append(Step(exchange, ("keys", "along", *numbers, whole)))
        results = {
            "values": ("x", "y", "keys"),
            "places": ("x", "keys", "places"),
            "pairs": ("with_it", "y", "moved"),
        }
        with_it, to, moved = results[problem.gives]
        steps.append(Step(launch(self.kernel("end")), ("keys", "along", with_it, to, moved, *both)))
        return tuple(steps)

    def accesses(self, problem: Sort, config: Config) -> Counted:
        """A launch for each step: half of the elements compare themselves with the other half, and
        at most all are stored; places move along with the keys."""
        count, size = problem.lines * problem.count, problem.key_bytes
        levels = (problem.count - 1).bit_length()
        launches = levels * (levels + 1) // 2
        begin = beside(count, size) + stored_beside(count, size) + stored_beside(count)
        both = beside(launches * count, size) + beside(launches * count)
        kept = stored_beside(launches * count, size) + stored_beside(launches * count)
        # A reach below a warp's width parts its threads.
        warps = blocks(problem.count, WARP) * problem.lines
        parted = Accesses(divergent_warps=warps * sum(min(level + 1, 5) for level in range(levels)))
        exchange = both + kept + parted + chain(launches * count / 2, launches)
        end = beside(count, size) + beside(count) + stored_beside(count, size)
        found = {self.kernel("begin"): begin, self.kernel("end"): end}
        return {**found, self.kernel("exchange"): exchange} if launches else found


class Merge(GpuSort):
    """Takes every problem.

    Source: Satish, Harris, Garland, "Designing Efficient Sorting Algorithms for Manycore GPUs"
    (IPDPS 2009), section 4; PMPP, chapter 12 and section 13.7.
    """

    name = "merge"
    summary = "runs are merged, every element finds its place by a binary search"
    tunables = (BLOCKS,)

    def steps(self, problem: Sort, config: Config) -> tuple[Step, ...]:
        passes = max(1, (problem.count - 1).bit_length())
        block = config["BLOCK"]
        grid = (problem.lines * blocks(problem.count, block), 1, 1)
        launch, found = Launch(self.kernel(), grid, (block, 1, 1)), []
        for number, ends in enumerate(ends_of(problem, passes)):
            sizes = wide(problem.count, problem.inner, 1 << number)
            found.append(Step(launch, (*ends.names, ends.first, ends.last, *sizes)))
        return tuple(found)

    def accesses(self, problem: Sort, config: Config) -> Counted:
        """A launch for each doubling: a binary search an element in the other run, whose reads lie
        apart, and a store."""
        count = problem.lines * problem.count
        passes = max(1, (problem.count - 1).bit_length())
        searched = sum(range(1, passes + 1))
        made = self.moved(problem, passes) + scattered_loads(searched * count)
        return {self.kernel(): made + chain(searched * count, searched)}


STRATEGIES = (OddEven(), Bitonic(), Merge())
