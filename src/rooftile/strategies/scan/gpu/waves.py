"""Rung 12, `waves`: a single pass of resident blocks, which know of each other before they ask.

Source: Merrill, Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back" (NVIDIA
NVR-2016-002, 2016), for what is published; the order of the work is our own.
"""

from __future__ import annotations

import numpy as np

from rooftile.analysis.accesses import Counted, beside, stored_beside
from rooftile.analysis.cooperation import vector_scan
from rooftile.devices.gpu import Launch
from rooftile.ops.scan import Scan
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.gpu import Config, Step, Tunable
from rooftile.strategies.scan.gpu._base import itemsize, wide
from rooftile.strategies.scan.gpu._tiles import TileScan

_WIDTH = 4
_TILE_BYTES = 16
"""Of a thread's vector."""
_KEPT_BYTES = 4096
"""Shared memory for barriers and what warps tell each other, at most."""
_CLEARING = 256
"""Threads of a block that clears states."""


class Waves(TileScan):
    """Takes one line of numbers of 32 bits, forward, by an operator that commutes.

    Its blocks wait for each other, so it is launched as a whole or not at all.
    """

    name = "waves"
    order = 12
    summary = "resident blocks in step, a tile is summed waves before it is stored"
    summing = "scan_waves"
    least_architecture = 90
    tunables = (
        Tunable("THREADS", (256, 384, 512, 1024), 512),
        Tunable("ROWS", (1, 2, 4), 4),
        Tunable("STAGES", (3, 4, 6), 6),
        Tunable("BEHIND", (1, 2), 2),
        Tunable("BLOCKS", (1, 2, 3), 1),
    )

    def why_not(self, problem: Scan) -> str | None:
        """Several lines, other sizes, another order."""
        if reason := super().why_not(problem):
            return reason
        if problem.lines > 1:
            return f"{problem.lines} lines: it has one"
        if problem.reverse:
            return "it goes forward"
        if not problem.operator.commutative:
            return "the operator does not commute"
        sizes = {itemsize(problem), *(array.numpy.itemsize for array in problem.arrays)}
        if sizes != {4}:
            return "its numbers have 32 bits"
        return None

    def why_slow(self, problem: Scan) -> str | None:
        """The first wave is summed before anything is stored."""
        config = self.defaults(problem)
        waves = self.tiles(problem, config) / self.all(config)
        return "there are few waves of tiles" if waves < 8 else None

    def defaults(self, problem: Scan) -> dict[str, int]:
        """As many rows as shared memory has room for."""
        found = super().defaults(problem)
        rows = next((r for r in (4, 2) if self._fits({**found, "ROWS": r})), 1)
        return {**found, "ROWS": rows}

    def invalid(self, problem: Scan, config: Config) -> str | None:
        """Too much shared memory, more blocks than a block has threads, no stage under way."""
        if not self._fits(config):
            return f"{self._stages(config)} bytes of shared memory a block"
        if self.all(config) > config["THREADS"]:
            return f"{self.all(config)} blocks, {config['THREADS']} threads to ask them"
        if config["STAGES"] < config["BEHIND"] + 2:
            return "no stage is left to be filled"
        return None

    def all(self, config: Config) -> int:
        """Blocks that are resident."""
        return config["BLOCKS"] * self.machine.multiprocessors

    def tiles(self, problem: Scan, config: Config) -> int:
        """Tiles of the line."""
        return blocks(problem.count, config["THREADS"] * config["ROWS"] * _WIDTH)

    def macros(self, problem: Scan, config: Config) -> dict[str, int | str]:
        """Lines of one vector's multiples, whatever their length."""
        return {**super().macros(problem, config), "WIDTH": _WIDTH, "ALIGNED": 1}

    def workspace(self, problem: Scan, config: Config) -> dict[str, int]:
        """A state a tile."""
        return {"states": 2 * self.tiles(problem, config)}

    def steps(self, problem: Scan, config: Config) -> tuple[Step, ...]:
        """States are cleared, then tiles are scanned."""
        tiles = self.tiles(problem, config)
        clear = Launch("clear", (blocks(tiles, _CLEARING), 1, 1), (_CLEARING, 1, 1))
        grid, block = (self.all(config), 1, 1), (config["THREADS"], 1, 1)
        scan = Launch("scan_waves", grid, block, self._stages(config), together=True)
        return (
            Step(clear, ("states", np.int64(tiles))),
            Step(scan, ("x", "y", "states", *wide(tiles, problem.count))),
        )

    def accesses(self, problem: Scan, config: Config) -> Counted:
        """Every element once; of each wave every block reads all states."""
        x, y = problem.arrays
        tiles, warps = self.tiles(problem, config), config["THREADS"] // 32
        made = beside(x.size, x.numpy.itemsize, _WIDTH) + stored_beside(y.size, y.numpy.itemsize)
        made += vector_scan(x.size, _WIDTH, config["ROWS"], warps)
        made += beside(tiles * self.all(config), 8) + stored_beside(tiles, 8)
        return {"clear": stored_beside(tiles, 8), "scan_waves": made}

    def _stages(self, config: Config) -> int:
        return config["STAGES"] * config["THREADS"] * config["ROWS"] * _TILE_BYTES

    def _fits(self, config: Config) -> bool:
        return self._stages(config) + _KEPT_BYTES <= self.machine.shared_room(config["BLOCKS"])


STRATEGY = Waves()
