"""`bitonic`: a network for lines of any length, each step of which is a launch. Source: Batcher,
"Sorting Networks and their Applications" (AFIPS 1968); Knuth, "The Art of Computer Programming",
volume 3, 5.3.4."""

from __future__ import annotations

from rooftile.analysis.accesses import WARP, Accesses, Counted, beside, stored_beside
from rooftile.analysis.cooperation import chain
from rooftile.devices.gpu import Launch
from rooftile.ops.patterns.sort import Sort
from rooftile.strategies.common.grid import blocks, wide
from rooftile.strategies.contract.gpu import Config, Step
from rooftile.strategies.sort.gpu._base import BLOCKS, GpuSort


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
                arguments = ("keys", "along", *numbers, int(reach == level))
                steps.append(Step(launch(self.kernel("exchange")), arguments))
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


STRATEGY = Bitonic()
