"""`in_place`: a block holds a row in its registers while it is written."""

from __future__ import annotations

import numpy as np

from rooftile.analysis.accesses import Accesses
from rooftile.analysis.pictures import Cell, Panels, panel
from rooftile.devices.gpu import Launch
from rooftile.ops.patterns.rotate import Rotate
from rooftile.strategies.common.grid import blocks, tile_of
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.rotate.gpu._base import GpuRotate

_BLOCK, _HELD = 512, 16
"""Most threads of a block, and most elements of a thread."""
_MOST_ROWS = 2**16
"""Blocks of a grid, which take further rows in turn."""


class InPlace(GpuRotate):
    """Takes rows of up to 8192 elements."""

    name = "in_place"
    summary = "a row in a block's registers while it is written: out may be x"
    tunables = (Tunable("BLOCK", (32, 64, 128, 256, 512), 256),)

    def limits(self, problem: Rotate) -> str | None:
        return self.invalid(problem, self.defaults(problem))

    def defaults(self, problem: Rotate) -> dict[str, int]:
        """About four elements a thread."""
        return {"BLOCK": tile_of(blocks(problem.columns, 4), 32, _BLOCK)}

    def invalid(self, problem: Rotate, config: Config) -> str | None:
        most = config["BLOCK"] * _HELD
        return f"rows of {problem.columns}, at most {most}" if problem.columns > most else None

    def macros(self, problem: Rotate, config: Config) -> dict[str, int | str]:
        held = blocks(problem.columns, config["BLOCK"])
        return {**super().macros(problem, config), "HELD": held}

    def steps(self, problem: Rotate, config: Config) -> tuple[Step, ...]:
        launch = Launch(
            self.kernel(), (min(problem.rows, _MOST_ROWS), 1, 1), (config["BLOCK"], 1, 1)
        )
        numbers = np.int64(problem.rows), problem.columns, problem.places
        return (Step(launch, ("x", "y", *numbers)),)

    def accesses(self, problem: Rotate, config: Config) -> dict[str, Accesses]:
        """The other way round: loads begin where rows do."""
        loaded, stored = self.rows(problem)
        stores = Accesses(stores=stored.loads, store_sectors=stored.load_sectors)
        return {self.kernel(): loaded + stores}

    def picture(self, problem: Rotate, config: Config) -> Panels:
        """A row before and after, by the threads that hold its elements."""
        block, columns, places = config["BLOCK"], problem.columns, problem.places

        def cell(j: int) -> Cell:
            return Cell("core" if j % block else "used", str(j % block))

        return (
            panel("a row of x, by the thread that holds it", (1, columns), lambda _, j: cell(j)),
            panel(
                f"the row of y, {places} places on",
                (1, columns),
                lambda _, j: cell((j - places) % columns),
            ),
        )


STRATEGY = InPlace()
