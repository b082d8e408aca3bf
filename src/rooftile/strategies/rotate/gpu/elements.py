"""A thread for an element, and for the elements that change places."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from rooftile.analysis.access import SECTOR_BYTES
from rooftile.analysis.accesses import Accesses, row_loads
from rooftile.analysis.pictures import Cell, Panels, panel
from rooftile.devices.gpu import Launch
from rooftile.ops.features import features
from rooftile.ops.patterns.rotate import Rotate
from rooftile.strategies.common.grid import MOST_BLOCKS, blocks, tile_of
from rooftile.strategies.contract.gpu import Config, GpuStrategy, Step, Tunable


class GpuRotate(GpuStrategy):
    """A GPU strategy of `rotate`."""

    operation = "rotate"
    takes = features("dtype:*")
    wide_indices = True

    def macros(self, problem: Rotate, config: Config) -> dict[str, int | str]:
        return {"BYTES": problem.itemsize, **config}

    def rows(self, problem: Rotate) -> tuple[Accesses, Accesses]:
        """Rows that are read where they begin, and rows that are read where a shift begins."""
        size, apart = problem.itemsize, SECTOR_BYTES // problem.itemsize
        whole = math.gcd(problem.columns, apart)
        shifted = math.gcd(whole, problem.places)
        run = partial(row_loads, problem.columns, problem.rows, elem_bytes=size)
        return run(alignment=whole), run(alignment=shifted)


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


STRATEGIES = (Naive(), InPlace())
