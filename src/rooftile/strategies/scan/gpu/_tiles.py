"""Rungs whose warps scan rows of vectors in registers: neighbours of a line, on CUDA alone."""

from __future__ import annotations

from rooftile.ops.patterns.scan import Scan
from rooftile.strategies.contract.gpu import Config
from rooftile.strategies.scan.gpu._base import GpuScan, itemsize

_VECTOR_BYTES = 16


class TileScan(GpuScan):
    """Takes lines along the last axis."""

    devices = ("cuda",)

    def limits(self, problem: Scan) -> str | None:
        if problem.inner > 1:
            return "neighbours in memory are of different lines"
        return super().limits(problem)

    def macros(self, problem: Scan, config: Config) -> dict[str, int | str]:
        width = vector(problem)
        aligned = problem.lines == 1 or problem.count % width == 0
        return {**super().macros(problem, config), "WIDTH": width, "ALIGNED": int(aligned)}


def rows(problem: Scan, words: int) -> int:
    """Rows of vectors of a warp, where a thread carries ``words`` words of four bytes."""
    return max(1, words * 4 // itemsize(problem) // vector(problem))


def vector(problem: Scan) -> int:
    """Elements that a lane loads or stores at a time: 16 bytes of the longer of both types."""
    return _VECTOR_BYTES // max(array.numpy.itemsize for array in problem.arrays)
