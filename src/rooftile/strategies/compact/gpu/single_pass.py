"""Single passes: tiles look back, by a block for each and by resident blocks.

Source: Merrill, Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back" (NVIDIA
NVR-2016-002, 2016).
"""

from __future__ import annotations

import numpy as np

from rooftile.analysis.accesses import WARP, Accesses, Counted, beside, stored_beside
from rooftile.analysis.cooperation import chain
from rooftile.ops.features import features
from rooftile.ops.patterns.compact import Compact
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.common.tiles_in_order import LOOKING, TilesInOrder
from rooftile.strategies.common.waves import LEAST_ARCHITECTURE, Waves
from rooftile.strategies.compact.gpu._base import GpuCompact
from rooftile.strategies.contract.gpu import Config, Step, Tunable


class LookBack(TilesInOrder):
    """Takes every problem.

    It is for CUDA: a tile waits for tiles that were begun before it, and OpenCL promises of no
    work-group that it goes on running.
    """

    operation = "compact"
    name = "look_back"
    summary = "a single pass, tiles look back at how many those before them keep"
    takes = features("dtype:* ordered")
    tunables = LOOKING

    def itemsize(self, problem: Compact) -> int:
        return problem.itemsize

    def steps(self, problem: Compact, config: Config) -> tuple[Step, ...]:
        return self.passes(problem, config, ("x", "mask", "y", "kept"))

    def accesses(self, problem: Compact, config: Config) -> Counted:
        """Elements and flags once."""
        return self.gathered(problem, config, masked=True)


_PIECE = 1024
"""Elements of a warp."""
_BARRIERS = 32
"""Bytes of a stage's."""
_ROW = 9
"""Operations of a lane for each 32 elements of its warp."""


class CompactWaves(GpuCompact):
    """Takes elements of 32 bits; launched as a whole, as `scan`'s.

    Sources: as of `look_back`, and of `scan`'s rung of this name.
    """

    name = "waves"
    devices = ("cuda",)
    summary = "resident blocks whose warps load, count, look up and move different tiles"
    takes = features("dtype:int32 ordered")
    least_architecture = LEAST_ARCHITECTURE
    tunables = (
        Tunable("THREADS", (64, 128, 256), 128),
        Tunable("STAGES", (3, 4, 5, 8, 10), 8),
        Tunable("BLOCKS", (1, 2, 3), 1),
    )

    def limits(self, problem: Compact) -> str | None:
        return self.unfit(problem) if problem.itemsize == 4 else "its elements have 32 bits"

    def defaults(self, problem: Compact) -> dict[str, int]:
        """As many stages as shared memory has room for."""
        made = super().defaults(problem)
        fitting = (s for s in (8, 4) if not self.invalid(problem, {**made, "STAGES": s}))
        return {**made, "STAGES": next(fitting, 3)}

    def invalid(self, problem: Compact, config: Config) -> str | None:
        return self.waves(problem, config).invalid()

    def waves(self, problem: Compact, config: Config) -> Waves:
        """The tiles; a bit is kept for each element of a stage, two sums for each warp."""
        warps = config["THREADS"] // 32
        kept = config["STAGES"] * (_BARRIERS + warps * (_PIECE // 8 + 16))
        tiles = blocks(problem.count, warps * _PIECE)
        return Waves(self.machine, config, tiles, 5 * warps * _PIECE, kept)

    def macros(self, problem: Compact, config: Config) -> dict[str, int | str]:
        return {**super().macros(problem, config), "ALL": self.waves(problem, config).all}

    def workspace(self, problem: Compact, config: Config) -> dict[str, int]:
        return {"states": 2 * self.waves(problem, config).tiles}

    def steps(self, problem: Compact, config: Config) -> tuple[Step, ...]:
        waves = self.waves(problem, config)
        numbers = map(np.int64, (waves.tiles, problem.count))
        return waves.steps(self, "x", "mask", "y", "kept", "states", *numbers)

    def accesses(self, problem: Compact, config: Config) -> Counted:
        """Elements and flags once, through shared memory; all are kept, at most."""
        waves, count = self.waves(problem, config), problem.count
        made = beside(count, 4, 4) + beside(count, 1, 4) + stored_beside(count, 4)
        made += chain(count * _ROW, 32 * _ROW)
        made += Accesses(shared_reads=2 * count / WARP)
        return {self.kernel("clear"): waves.zeros, self.kernel(): made + waves.looked_up}


STRATEGIES = (LookBack(), CompactWaves())
