"""`coarsened`: rows of column sums a thread, in registers, moved as vectors. Source: PMPP, sections
6.3 (thread coarsening) and 8.4 (register tiling); Luitjens, "CUDA Pro Tip: Increase Performance
with Vectorized Memory Access", 2013."""

from __future__ import annotations

from rooftile.analysis.accesses import Accesses
from rooftile.ops.patterns.separable import Separable
from rooftile.strategies.common.grid import MOST_BLOCKS, beyond_block, blocks
from rooftile.strategies.contract.gpu import Config, Tunable
from rooftile.strategies.separable.gpu._accesses import sums_in_registers
from rooftile.strategies.separable.gpu._base import Size2, TiledSeparable

_QUAD = 4
"""Elements whose vector has 16 bytes."""
_MOST_TAPS = 64
"""Of columns that are written out, and of rows whose window registers hold."""


class Coarsened(TiledSeparable):
    """Takes columns and rows of up to 64 taps."""

    name = "coarsened"
    summary = "column sums of several rows in registers, read and written as vectors of 16 bytes"
    tunables = (
        Tunable("LANES", (32, 64), 32),
        Tunable("TEAMS", (1, 2, 4, 8), 1),
        Tunable("ROWS", (4, 8, 12, 16), 8),
    )

    def tile(self, problem: Separable, config: Config) -> Size2:
        made = config["LANES"] - _window(problem) // _QUAD + 1
        return config["TEAMS"] * config["ROWS"], _QUAD * made

    def block(self, config: Config) -> Size2:
        return config["TEAMS"], config["LANES"]

    def invalid(self, problem: Separable, config: Config) -> str | None:
        longest = max(problem.mask)
        if longest > _MOST_TAPS:
            return f"{longest} taps, registers hold a window of {_MOST_TAPS}"
        tiles = self.grid(problem, config)[1]
        if tiles > MOST_BLOCKS:
            return f"{tiles} rows of tiles, at most {MOST_BLOCKS}"
        threads = config["LANES"] * config["TEAMS"]
        return beyond_block(threads, 16 * threads * config["ROWS"])

    def macros(self, problem: Separable, config: Config) -> dict[str, int | str]:
        return {
            **super().macros(problem, config),
            "VECTOR_IN": int(problem.width % _QUAD == 0),
            "VECTOR_OUT": int(problem.output_size[1] % _QUAD == 0),
        }

    def accesses(self, problem: Separable, config: Config) -> dict[str, Accesses]:
        """A vector for every ROWS + HIGH - 1 rows of a quad; sums and windows in shared memory."""
        across, down, _ = self.grid(problem, config)
        teams, lanes = across * down * config["TEAMS"], config["LANES"]
        vectors = problem.width % _QUAD == 0
        quads = blocks(_window(problem), _QUAD)
        return {
            self.kernel(): sums_in_registers(
                problem, teams, lanes, config["ROWS"], quads, vectors=vectors
            )
        }


def _window(problem: Separable) -> int:
    """Columns of the sums that a quad of outputs reads."""
    skipped = -problem.before[1] % _QUAD
    return blocks(skipped + problem.mask[1] + _QUAD - 1, _QUAD) * _QUAD


STRATEGY = Coarsened()
