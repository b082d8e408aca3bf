"""`in_place`: tiles change places with those across the diagonal, so that out may be x."""

from __future__ import annotations

from collections.abc import Mapping

from rooftile.analysis.accesses import Accesses
from rooftile.ops.patterns.transpose import Transpose
from rooftile.strategies.contract.gpu import Config, Tunable
from rooftile.strategies.transpose.gpu._base import TILE, MatrixTranspose, column_reads, in_rows


class InPlace(MatrixTranspose):
    """Takes squares, and batches of them."""

    name = "in_place"
    summary = "tiles change places with those across the diagonal: out may be x"
    tunables = (Tunable("DOWN", (4, 8, 16, 32), 8),)

    def block(self, problem: Transpose, config: Config) -> tuple[int, int, int]:
        return TILE, config["DOWN"], 1

    def limits(self, problem: Transpose) -> str | None:
        reason = super().limits(problem)
        if reason is not None or problem.matrices is None:
            return reason
        _, rows, columns = problem.matrices
        return None if rows == columns else f"{rows} rows and {columns} columns are no square"

    def macros(self, problem: Transpose, config: Config) -> dict[str, int | str]:
        return {**super().macros(problem, config), "TILE": TILE}

    def sizes(self, problem: Transpose) -> tuple[int, ...]:
        assert problem.matrices is not None
        return problem.matrices[:2]

    def accesses(self, problem: Transpose, config: Config) -> Mapping[str, Accesses]:
        return {self.kernel(): in_rows(problem) + column_reads(problem, TILE + 1)}


STRATEGY = InPlace()
