"""Single passes whose tiles look back at those before them for how many elements they keep.

The texts share `compact/gpu/gather.h`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rooftile.analysis.accesses import WARP, Accesses, Counted, beside, stored_beside
from rooftile.analysis.cooperation import chain
from rooftile.devices.gpu import Launch
from rooftile.strategies.common.grid import beyond_block, blocks
from rooftile.strategies.common.states import States
from rooftile.strategies.contract.gpu import Config, GpuStrategy, Step, Tunable

_VECTOR_BYTES = 16
_SCAN = 6
"""Operations of a lane in a scan of a warp's lanes: five passes, and what is before."""
LOOKING = (
    Tunable("THREADS", (128, 256, 384, 512), 256),
    Tunable("ROWS", (2, 4, 6, 8), 8),
    Tunable("BLOCKS", (1, 2, 3, 4, 6, 8), 4),
)


class TilesInOrder(GpuStrategy):
    """A GPU strategy with the tunables `LOOKING`, for problems with a ``count`` of elements."""

    devices = ("cuda",)
    wide_indices = True

    def itemsize(self, problem: Any) -> int:
        raise NotImplementedError

    def defaults(self, problem: Any) -> dict[str, int]:
        """Fewer rows of single bytes, of which a thread has sixteen in each, and of eight."""
        rows = {1: 4, 8: 6}.get(self.itemsize(problem), 8)
        return {**super().defaults(problem), "ROWS": rows}

    def invalid(self, problem: Any, config: Config) -> str | None:
        shared = config["THREADS"] * (config["ROWS"] * _VECTOR_BYTES + 1)
        return beyond_block(config["THREADS"], shared)

    def tiles(self, problem: Any, config: Config) -> int:
        """Tiles, a block each."""
        width = _VECTOR_BYTES // self.itemsize(problem)
        return blocks(problem.count, config["THREADS"] * config["ROWS"] * width)

    def states(self, problem: Any, config: Config) -> States:
        """The states of all tiles, which count in 64 bits."""
        return States(self.tiles(problem, config), 8)

    def workspace(self, problem: Any, config: Config) -> dict[str, int]:
        return self.states(problem, config).workspace()

    def macros(self, problem: Any, config: Config) -> dict[str, int | str]:
        return {"SIZE": self.itemsize(problem), **config}

    def passes(self, problem: Any, config: Config, arrays: tuple[str, ...]) -> tuple[Step, ...]:
        """States are cleared, then a kernel goes through the tiles of these arrays."""
        states = self.states(problem, config)
        launch = Launch(self.kernel(), (states.tiles, 1, 1), (config["THREADS"], 1, 1))
        numbers = map(np.int64, (states.tiles, states.groups, problem.count))
        return (
            states.cleared(self),
            Step(launch, (*arrays, "states", "tickets", *numbers)),
        )

    def gathered(self, problem: Any, config: Config, *, masked: bool) -> Counted:
        """Accesses with a flag of a byte for each element where it is ``masked``. All elements are
        kept, at most. The numbers of elements that a row's lanes keep are scanned for two rows at
        once; elements pass through shared memory."""
        states, size, count = self.states(problem, config), self.itemsize(problem), problem.count
        width, scans = _VECTOR_BYTES // size, config["ROWS"] // 2 * _SCAN
        made = beside(count, size, width) + stored_beside(count, size)
        if masked:
            made += beside(count, 1, min(width, 4))
        made += chain(count + states.tiles * config["THREADS"] * scans, width + scans)
        made += Accesses(shared_reads=count / WARP)
        made += states.looked_back(self.machine.multiprocessors * config["BLOCKS"])
        return {self.kernel("clear"): states.zeros, self.kernel(): made}
