"""`columns`: adjacent lines; a block goes down a band of them. Source: PMPP, section 11.5
(coarsened phases)."""

from __future__ import annotations

from rooftile.analysis.accesses import WARP, Accesses, Counted, beside, stored_beside
from rooftile.analysis.cooperation import chain
from rooftile.devices.gpu import Launch
from rooftile.ops.patterns.scan import Scan
from rooftile.strategies.common.grid import beyond_block, blocks, wide
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.scan.gpu._base import GpuScan, itemsize
from rooftile.strategies.scan.gpu._tiles import vector

_ELEMENTS = 16
"""Elements of a thread's step."""


class Columns(GpuScan):
    """Takes every associative operator along an axis that is not the last."""

    name = "columns"
    summary = "bands of neighbouring lines, the next rows in flight while these are scanned"
    tunables = (
        Tunable("LANES", (8, 16, 32), 16),
        Tunable("TEAMS", (4, 8, 16, 32), 16),
        Tunable("RUN", (1, 2, 4, 8), 4),
    )

    def defaults(self, problem: Scan) -> dict[str, int]:
        """As many rows as keep a thread's elements in registers, no more than there are."""
        run = max(1, _ELEMENTS // vector(problem))
        teams = 16
        while teams > 4 and teams * run >= 2 * problem.count:
            teams //= 2
        return {"LANES": 16, "TEAMS": teams, "RUN": run}

    def limits(self, problem: Scan) -> str | None:
        if problem.inner == 1:
            return "lines are not adjacent"
        return super().limits(problem)

    def invalid(self, problem: Scan, config: Config) -> str | None:
        threads = config["LANES"] * config["TEAMS"]
        shared = threads * vector(problem) * itemsize(problem)
        return beyond_block(threads, shared) or self._too_many(problem, config)

    def bands(self, problem: Scan, config: Config) -> int:
        """Bands of an outer axis."""
        return blocks(problem.inner, config["LANES"] * vector(problem))

    def blocks(self, problem: Scan, config: Config) -> int:
        """Bands of all outer axes."""
        return problem.outer * self.bands(problem, config)

    def macros(self, problem: Scan, config: Config) -> dict[str, int | str]:
        width = vector(problem)
        aligned = int(problem.inner % width == 0)
        return {**super().macros(problem, config), "WIDTH": width, "ALIGNED": aligned}

    def steps(self, problem: Scan, config: Config) -> tuple[Step, ...]:
        grid = (self.blocks(problem, config), 1, 1)
        launch = Launch(self.kernel(), grid, (config["LANES"], config["TEAMS"], 1))
        numbers = wide(self.bands(problem, config), problem.count, problem.inner)
        return (Step(launch, ("x", "y", *numbers)),)

    def accesses(self, problem: Scan, config: Config) -> Counted:
        """Vectors of neighbouring lines; teams meet in shared memory once a step of rows."""
        x, y = problem.arrays
        width, run, teams = vector(problem), config["RUN"], config["TEAMS"]
        steps = blocks(problem.count, run * teams)
        held = x.size / run
        words = itemsize(problem) // 4
        made = beside(x.size, x.numpy.itemsize, width) + stored_beside(y.size, y.numpy.itemsize)
        made += chain(2 * x.size + held, steps * (run + teams + 1))
        return {self.kernel(): made + Accesses(shared_reads=2 * words * held / WARP)}


STRATEGY = Columns()
