"""`bulk_tf32`: both matrices in float32 as they lie, rounded by the copy engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from rooftile.analysis.accesses import Accesses
from rooftile.ops import Array
from rooftile.ops.patterns.matmul import Matmul
from rooftile.strategies.contract.gpu import Config, Step
from rooftile.strategies.matmul.gpu._turn import turning, turning_accesses
from rooftile.strategies.matmul.gpu.bulk._tile import Tile
from rooftile.strategies.matmul.gpu.bulk.bulk import Bulk

_FEW_RESULTS, _MANY_TERMS = 2**16, 4096
"""Of products with a pass before: on an H100 32 x 8192 x 1024 takes 25 us, by `mma_tf32` 16."""


class BulkTf32(Bulk):
    """Both matrices rounded to TF32, sums in float32.

    The cores take one matrix at most whose lines are terms; of two the smaller one is turned
    before.
    """

    name = "bulk_tf32"
    precision = "tf32"
    summary = "Hopper's warpgroups, both matrices as they lie, rounded by the copy engine"

    def limits(self, problem: Matmul) -> str | None:
        """See `Bulk.limits`."""
        return super().limits(_read(problem))

    def why_slow(self, problem: Matmul) -> str | None:
        """See `Bulk.why_slow`; and few results of many terms: `mma_tf32` has more parts."""
        results = problem.rows * problem.columns
        parted = _turned(problem) is not None and problem.inner >= _MANY_TERMS
        if parted and results <= _FEW_RESULTS:
            return f"with a pass before it is for more than {_FEW_RESULTS} results of such sums"
        return super().why_slow(problem)

    def macros(self, problem: Matmul, config: Config) -> dict[str, int | str]:
        """See `Bulk.macros`; and whether a matrix is turned before."""
        return {**super().macros(problem, config), "TURNS": int(_turned(problem) is not None)}

    def workspace(self, problem: Matmul, config: Config) -> dict[str, int]:
        """The turned matrix."""
        array = _turned(problem)
        return {} if array is None else {"turned": array.size}

    def accesses(self, problem: Matmul, config: Config) -> dict[str, Accesses]:
        """See `Bulk.accesses`; and what turns a matrix."""
        found, array = super().accesses(problem, config), _turned(problem)
        return found if array is None else {self.kernel("turn"): turning_accesses(array), **found}

    def _before(
        self, problem: Matmul, config: Config
    ) -> tuple[tuple[Step, ...], Mapping[str, str]]:
        array = _turned(problem)
        if array is None:
            return (), {}
        return (turning(self, array, "turned"),), {array.name: "turned"}

    def _tile(self, problem: Matmul, config: Config) -> Tile:
        return super()._tile(_read(problem), config)


def _turned(problem: Matmul) -> Array | None:
    """The matrix that is turned before, if any: the smaller one."""
    if not problem.transpose_a or problem.transpose_b:
        return None
    left, right = problem.input_arrays
    return left if problem.rows <= problem.columns else right


def _read(problem: Matmul) -> Matmul:
    """The problem as the product finds its matrices."""
    array = _turned(problem)
    if array is None:
        return problem
    if array == problem.input_arrays[0]:
        return replace(problem, transpose_a=False)
    return replace(problem, transpose_b=True)


STRATEGY = BulkTf32()
