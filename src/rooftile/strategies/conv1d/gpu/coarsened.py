"""`coarsened`: several quads of outputs a thread, in registers, moved as vectors. Source: PMPP,
section 6.3 (thread coarsening); Luitjens, "CUDA Pro Tip: Increase Performance with Vectorized
Memory Access", 2013."""

from __future__ import annotations

from rooftile.analysis.accesses import Accesses
from rooftile.ops.patterns.conv1d import Conv1d
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config, Tunable
from rooftile.strategies.conv1d.gpu._accesses import window_quads
from rooftile.strategies.conv1d.gpu._base import ConstantConv1d

_QUAD = 4
"""Outputs whose vector has 16 bytes."""
_MOST_TAPS = 64
"""Of masks whose window registers hold."""
_LONG = 2**16
"""Outputs of a row from which on there are blocks enough for two quads a thread, which share what
each thread does besides."""


class Coarsened(ConstantConv1d):
    """Takes masks of up to 64 taps."""

    name = "coarsened"
    summary = "quads of outputs in registers, read and written as vectors of 16 bytes"
    tunables = (Tunable("BLOCK", (64, 128, 256, 512), 256), Tunable("QUADS", (1, 2, 4), 1))

    def defaults(self, problem: Conv1d) -> dict[str, int]:
        """Two quads where rows are long; no more threads than a row has quads."""
        quads = 2 if problem.outputs >= _LONG else 1
        block = 64
        while block < 256 and block * _QUAD < problem.outputs:
            block *= 2
        return {"BLOCK": block, "QUADS": quads}

    def invalid(self, problem: Conv1d, config: Config) -> str | None:
        if problem.mask * config["QUADS"] > 2 * _MOST_TAPS or problem.mask > _MOST_TAPS:
            return f"{config['QUADS']} windows of {problem.mask} taps: registers do not hold them"
        return None

    def tile(self, problem: Conv1d, config: Config) -> int:
        return _QUAD * config["BLOCK"] * config["QUADS"]

    def macros(self, problem: Conv1d, config: Config) -> dict[str, int | str]:
        return {
            **super().macros(problem, config),
            "VECTOR_IN": int(problem.batch * problem.channels == 1 or problem.length % _QUAD == 0),
            "VECTOR_OUT": int(problem.rows == 1 or problem.outputs % _QUAD == 0),
        }

    def accesses(self, problem: Conv1d, config: Config) -> dict[str, Accesses]:
        """The window of each quad, in vectors; the quad in one store."""
        window = blocks(-problem.before % _QUAD + problem.mask + _QUAD - 1, _QUAD) * _QUAD
        vectors = bool(self.macros(problem, config)["VECTOR_IN"])
        return {self.kernel(): window_quads(problem, window, vectors=vectors)}


STRATEGY = Coarsened()
