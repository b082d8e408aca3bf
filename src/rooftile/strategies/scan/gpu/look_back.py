"""`look_back`: a single pass, each tile looks back at those before it. Source: Merrill, Garland,
"Single-pass Parallel Prefix Scan with Decoupled Look-back" (NVIDIA NVR-2016-002, 2016)."""

from __future__ import annotations

from rooftile.analysis.accesses import Counted, beside, stored_beside
from rooftile.analysis.cooperation import vector_scan
from rooftile.devices.gpu import Launch
from rooftile.ops.patterns.scan import Scan
from rooftile.strategies.common.grid import beyond_block, blocks, wide
from rooftile.strategies.common.states import States
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.scan.gpu._base import itemsize
from rooftile.strategies.scan.gpu._tiles import TileScan, rows, vector


class LookBack(TileScan):
    """Takes every associative operator along the last axis.

    It is for CUDA: a tile waits for tiles that were begun before it, so every running block must
    make progress. OpenCL promises that of no work-group, and a CPU's runtime may run them one after
    another on a thread that waits for ever.
    """

    name = "look_back"
    summary = "a single pass, tiles look back at what those before them have published"
    tunables = (
        Tunable("THREADS", (128, 256, 384, 512), 256),
        Tunable("ROWS", (1, 2, 4, 6, 8, 12), 8),
        Tunable("BLOCKS", (1, 2, 3, 4, 6, 8), 4),
    )

    def defaults(self, problem: Scan) -> dict[str, int]:
        """As many rows as registers hold."""
        return {**super().defaults(problem), "ROWS": rows(problem, 32)}

    def invalid(self, problem: Scan, config: Config) -> str | None:
        return beyond_block(config["THREADS"]) or self._too_many(problem, config)

    def tiles(self, problem: Scan, config: Config) -> int:
        """Tiles of a line."""
        return blocks(problem.count, config["THREADS"] * config["ROWS"] * vector(problem))

    def blocks(self, problem: Scan, config: Config) -> int:
        """Tiles of all lines."""
        return problem.lines * self.tiles(problem, config)

    def states(self, problem: Scan, config: Config) -> States:
        compensated = self.macros(problem, config)["COMPENSATED"]
        size = itemsize(problem) * (2 if compensated else 1)
        return States(self.blocks(problem, config), size)

    def workspace(self, problem: Scan, config: Config) -> dict[str, int]:
        return self.states(problem, config).workspace()

    def steps(self, problem: Scan, config: Config) -> tuple[Step, ...]:
        states = self.states(problem, config)
        scan = Launch(self.kernel(), (states.tiles, 1, 1), (config["THREADS"], 1, 1))
        numbers = wide(self.tiles(problem, config), states.groups, problem.count)
        return (
            states.cleared(self),
            Step(scan, ("x", "y", "states", "tickets", *numbers)),
        )

    def accesses(self, problem: Scan, config: Config) -> Counted:
        """Every element once, in registers; the states of tiles, and one counter for all."""
        x, y = problem.arrays
        states, width = self.states(problem, config), vector(problem)
        made = beside(x.size, x.numpy.itemsize, width) + stored_beside(y.size, y.numpy.itemsize)
        made += vector_scan(x.size, width, config["ROWS"], config["THREADS"] // 32)
        made += states.looked_back(self.machine.multiprocessors * config["BLOCKS"])
        return {self.kernel("clear"): states.zeros, self.kernel(): made}


STRATEGY = LookBack()
