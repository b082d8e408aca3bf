"""Rung 5, `coarsened`: several elements a thread before the tree.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., section 10.8.
"""

from __future__ import annotations

from rooftile.strategies.gpu import Config, Tunable
from rooftile.strategies.reduce.gpu._base import TiledReduce


class Coarsened(TiledReduce):
    """Results are the same in every run."""

    name = "coarsened"
    order = 5
    summary = "several elements a thread before the tree"
    tunables = (*TiledReduce.tunables, Tunable("LOADS", (2, 4, 8, 16, 32), 8))

    def tile(self, config: Config) -> int:
        """LOADS elements a thread."""
        return config["LOADS"] * config["THREADS"]


STRATEGY = Coarsened()
