"""Rows by a thread each, and by teams of threads. Source: Goodfellow, Bengio, Courville, "Deep
Learning" (2016), section 4.1 (the stable form); PMPP, section 10.6 (the tree in shared memory)."""

from __future__ import annotations

import math

from rooftile.analysis.accesses import (
    SECTOR_FLOATS,
    WARP,
    Accesses,
    row_loads,
    row_stores,
    scattered_loads,
)
from rooftile.analysis.divergence import guard_1d
from rooftile.ops import Softmax
from rooftile.strategies.common.threads import OverRows, RowTeams
from rooftile.strategies.contract.gpu import Config, Tunable


class Naive(OverRows):
    """Neighbouring threads read a whole row apart."""

    operation = "softmax"

    def macros(self, problem: Softmax, config: Config) -> dict[str, int | str]:
        return {"CLASSES": problem.classes, **config}

    def shape(self, problem: Softmax) -> tuple[int, int]:
        return problem.batch, problem.classes

    def arguments(self, problem: Softmax) -> tuple[str | int, ...]:
        return ("x", "out", problem.batch)

    def accesses(self, problem: Softmax, config: Config) -> dict[str, Accesses]:
        """A lane a row: the inputs twice, the exponentials written, read and written again."""
        rows, classes = problem.batch, problem.classes
        if classes >= SECTOR_FLOATS:
            found = scattered_loads(3 * rows * classes)
            found += Accesses(stores=2 * rows * classes, store_sectors=2 * rows * classes)
        else:
            found = row_loads(rows, 3 * classes, stride=classes)
            found += row_stores(rows, 2 * classes, stride=classes)
        last = len(guard_1d(rows, 1, config["BLOCK"]))
        return {self.kernel(): found + Accesses(divergent_warps=last)}


class BlockRows(RowTeams, Naive):
    """Short rows share a block; sums are the same in every run."""

    team = ("GROUP", "ROWS")
    tunables = (
        Tunable("GROUP", (2, 8, 32, 128, 256, 512), 256),
        Tunable("ROWS", (1, 2, 8, 32, 64), 1),
    )

    def macros(self, problem: Softmax, config: Config) -> dict[str, int | str]:
        return {**super().macros(problem, config), "TEAM": config["GROUP"]}

    def accesses(self, problem: Softmax, config: Config) -> dict[str, Accesses]:
        """GROUP lanes a row: the inputs three times, results once; a step of each of the two trees
        reads two numbers."""
        team, classes = config["GROUP"], problem.classes
        lanes, alignment = min(WARP, team), math.gcd(classes, SECTOR_FLOATS)
        found = row_loads(classes, 3 * problem.batch, lanes=lanes, alignment=alignment)
        found += row_stores(classes, problem.batch, lanes=lanes)
        steps = team.bit_length() - 1
        trees = problem.batch * team / WARP * 2 * 2 * steps
        return {self.kernel(): found + Accesses(shared_reads=trees)}


STRATEGIES = (Naive(), BlockRows())
