"""`odd_even`: a block a line in shared memory; neighbours are exchanged, count times. Source:
Knuth, "The Art of Computer Programming", volume 3, 5.3.4, exercise 37 (odd-even transposition)."""

from __future__ import annotations

from rooftile.analysis.accesses import WARP, Accesses, Counted
from rooftile.analysis.cooperation import chain
from rooftile.devices.gpu import Launch
from rooftile.ops.patterns.sort import Sort
from rooftile.strategies.common.grid import blocks, wide
from rooftile.strategies.contract.gpu import Config, Step
from rooftile.strategies.sort.gpu._base import BLOCKS, GpuSort

_SECTION = 2048
"""Elements of a block."""


class OddEven(GpuSort):
    """Takes lines that fit into a block's shared memory."""

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


STRATEGY = OddEven()
