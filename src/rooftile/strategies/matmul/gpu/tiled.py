"""`tiled`: square tiles in shared memory, where tiles divide all sizes.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., section 5.4.
"""

from __future__ import annotations

from rooftile.ops.patterns.matmul import Matmul
from rooftile.strategies.contract.gpu import Config, Tunable
from rooftile.strategies.matmul.gpu.tiled_any import TiledAny


class Tiled(TiledAny):
    """Takes sizes that tiles divide: there it guards nothing."""

    name = "tiled"
    summary = "square tiles in shared memory, where tiles divide all sizes"
    tunables = (Tunable("TILE", (8, 16, 32), 16),)

    def limits(self, problem: Matmul) -> str | None:
        """Sizes that the smallest tile does not divide."""
        least = self.tunables[0].values[0]
        if problem.rows % least or problem.inner % least or problem.columns % least:
            return f"it takes multiples of {least} and guards nothing"
        return super().limits(problem)

    def defaults(self, problem: Matmul) -> dict[str, int]:
        """The largest tile up to 16 that divides all sizes."""
        sizes = (problem.rows, problem.inner, problem.columns)
        return {"TILE": 16 if all(size % 16 == 0 for size in sizes) else 8}

    def invalid(self, problem: Matmul, config: Config) -> str | None:
        """A tile that does not divide a size."""
        for size in (problem.rows, problem.inner, problem.columns):
            if size % config["TILE"]:
                return f"tiles of {config['TILE']} do not divide {size}"
        return None


STRATEGY = Tiled()
