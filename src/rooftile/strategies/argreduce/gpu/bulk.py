"""Rung 5, `bulk`: tiles by the bulk copy engine, several of them ahead.

Source: NVIDIA, "CUDA C++ Programming Guide", asynchronous data copies, section on the bulk copy
engine (TMA) and its barriers.
"""

from __future__ import annotations

import numpy as np

from rooftile.devices.gpu import Launch
from rooftile.ops.argreduce import Argreduce
from rooftile.strategies.argreduce.gpu._base import VECTOR_BYTES, GpuArgreduce, row_vector
from rooftile.strategies.common.grid import MOST_BLOCKS, blocks
from rooftile.strategies.gpu import Config, Step, Tunable

_BESIDE_BYTES = 32
"""A thread's value and place, and barriers."""
_PAYS_BYTES = 2**25
"""From so many bytes on it hides its beginning."""


class Bulk(GpuArgreduce):
    """Takes rows that begin at multiples of 16 bytes; the fastest for few long ones."""

    name = "bulk"
    order = 5
    devices = ("cuda",)
    least_architecture = 90
    summary = "tiles by the bulk copy engine, several of them ahead"
    tunables = (
        Tunable("THREADS", (128, 256, 512), 256),
        Tunable("LOADS", (1, 2, 4, 8), 4),
        Tunable("STAGES", (2, 3, 4, 6, 8, 12), 6),
        Tunable("BLOCKS", (1, 2, 3, 4), 2),
    )

    def why_not(self, problem: Argreduce) -> str | None:
        """Elements that lie apart, rows that the engine cannot copy."""
        if problem.inner > 1:
            return f"the elements of a result lie {problem.inner} apart"
        if row_vector(problem) == 1:
            return f"rows of {problem.columns} begin at no multiple of {VECTOR_BYTES} bytes"
        if problem.rows > MOST_BLOCKS:
            return f"{problem.rows} rows, at most {MOST_BLOCKS}"
        return super().why_not(problem)

    def why_slow(self, problem: Argreduce) -> str | None:
        """Little to read, or many rows: there blocks of one row each are as good."""
        if problem.bytes < _PAYS_BYTES:
            return f"it pays from {_PAYS_BYTES} bytes"
        if problem.rows > 2 * self.machine.multiprocessors:
            return "it pays for fewer rows than the device holds blocks"
        return None

    def invalid(self, problem: Argreduce, config: Config) -> str | None:
        """More shared memory than a multiprocessor has for its blocks."""
        needed, room = _shared(config), self.machine.shared_room(config["BLOCKS"])
        fits = needed + _BESIDE_BYTES * config["THREADS"] <= room
        return None if fits else f"{needed} bytes of shared memory, at most {room}"

    def macros(self, problem: Argreduce, config: Config) -> dict[str, int | str]:
        """Also the elements of a vector."""
        return {**super().macros(problem, config), "VECTOR": row_vector(problem)}

    def segments(self, problem: Argreduce, config: Config) -> int:
        """As many of a row as keep every multiprocessor busy, and none is emptier than a tile."""
        tile = config["THREADS"] * config["LOADS"] * row_vector(problem)
        wanted = blocks(config["BLOCKS"] * self.machine.multiprocessors, problem.rows)
        return max(1, min(wanted, blocks(problem.columns, tile)))

    def steps(self, problem: Argreduce, config: Config) -> tuple[Step, ...]:
        """Segments, then what they found."""
        grid = (self.segments(problem, config), problem.rows, 1)
        launch = Launch("segments", grid, (config["THREADS"], 1, 1), _shared(config))
        return self.both(problem, config, launch, np.int64(problem.columns))


def _shared(config: Config) -> int:
    """Bytes of the ring."""
    return VECTOR_BYTES * config["THREADS"] * config["LOADS"] * config["STAGES"]


STRATEGY = Bulk()
