"""`naive`: a thread an element of the result."""

from __future__ import annotations

import numpy as np

from rooftile.analysis.accesses import Accesses
from rooftile.devices.gpu import Launch
from rooftile.ops.patterns.rotate import Rotate
from rooftile.strategies.common.grid import MOST_BLOCKS, blocks
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.rotate.gpu._base import GpuRotate


class Naive(GpuRotate):
    """Takes every problem."""

    name = "naive"
    summary = "a thread an element of the result, which reads some places before its own"
    tunables = (Tunable("BLOCK", (64, 128, 256, 512), 256),)

    def limits(self, problem: Rotate) -> str | None:
        wanted = blocks(problem.columns, self.defaults(problem)["BLOCK"])
        return f"{wanted} blocks, at most {2**31 - 1}" if wanted >= 2**31 else None

    def steps(self, problem: Rotate, config: Config) -> tuple[Step, ...]:
        grid = (blocks(problem.columns, config["BLOCK"]), min(problem.rows, MOST_BLOCKS), 1)
        numbers = map(np.int64, (problem.rows, problem.columns, problem.places))
        return (Step(Launch(self.kernel(), grid, (config["BLOCK"], 1, 1)), ("x", "y", *numbers)),)

    def accesses(self, problem: Rotate, config: Config) -> dict[str, Accesses]:
        """Loads begin some places before a sector, stores where rows do."""
        stored, loaded = self.rows(problem)
        return {
            self.kernel(): loaded + Accesses(stores=stored.loads, store_sectors=stored.load_sectors)
        }


STRATEGY = Naive()
