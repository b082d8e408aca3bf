"""The base of the GPU strategies of `argreduce`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from rooftile.analysis.accesses import Accesses, Counted, beside, stored_apart
from rooftile.analysis.cooperation import chain, shared_tree
from rooftile.devices.gpu import Launch
from rooftile.ops.features import features
from rooftile.ops.patterns.argreduce import Argreduce
from rooftile.strategies.common.grid import MOST_BLOCKS, blocks
from rooftile.strategies.common.operators import CARRIED_BYTES, operator_macros
from rooftile.strategies.contract.gpu import Config, GpuStrategy, Step

MOST_ROWS = 2**31 - 1
PLACE_BYTES = 8
_LANES = 32
"""Neighbouring results of a block of the last kernel."""
_THREADS = 256


class GpuArgreduce(GpuStrategy):
    """A GPU strategy of `argreduce`."""

    operation = "argreduce"
    takes = features("axis dtype:* operator:min")
    wide_indices = True

    def limits(self, problem: Argreduce) -> str | None:
        return f"{problem.rows} results" if problem.rows > MOST_ROWS else None

    def macros(self, problem: Argreduce, config: Config) -> dict[str, int | str]:
        lanes = self._lanes(problem)
        return {
            **operator_macros(problem.selecting, problem.dtype),
            "MAXIMUM": int(problem.operator == "max"),
            "ADJACENT": int(problem.inner == 1),
            "FINAL": int(self.segments(problem, config) == 1),
            "GIVEN_BYTES": problem.input_arrays[0].numpy.itemsize,
            "FINISH_ROWS": lanes,
            "FINISH_SHARES": _THREADS // lanes,
            **config,
        }

    def segments(self, problem: Argreduce, config: Config) -> int:
        """Shares of a row that are searched apart."""
        return 1

    def workspace(self, problem: Argreduce, config: Config) -> dict[str, int]:
        segments = self.segments(problem, config)
        if segments == 1:
            return {}
        count = problem.rows * segments
        values = blocks(CARRIED_BYTES[problem.carried] * count, 4)
        return {"values": values, "segment_places": 2 * count}

    def both(
        self, problem: Argreduce, config: Config, first: Launch, *numbers: int | np.integer[Any]
    ) -> tuple[Step, ...]:
        """The kernel that searches segments, then the last one, unless a row has one segment."""
        segments, inner = self.segments(problem, config), problem.inner
        if segments == 1:
            # Values are not kept: any array will do.
            return (Step(first, ("x", "places", "places", *numbers)),)
        slabs, lanes = problem.rows // inner, self._lanes(problem)
        grid = (blocks(inner, lanes), min(slabs, MOST_BLOCKS), 1)
        finish = Launch(self.kernel("finish"), grid, (lanes, _THREADS // lanes, 1))
        found = ("values", "segment_places")
        return (
            Step(first, ("x", *found, *numbers)),
            Step(finish, (*found, "places", slabs, segments, np.int64(inner))),
        )

    def joined(self, problem: Argreduce, config: Config, made: Accesses) -> Counted:
        """The accesses of the kernel of segments, and of the last one, unless a row has one
        segment. A result is an index, and between the kernels its value too."""
        segments, rows = self.segments(problem, config), problem.rows
        if segments == 1:
            return {self.kernel(): made + stored_apart(rows)}
        size, lanes = CARRIED_BYTES[problem.carried], self._lanes(problem)
        shares = _THREADS // lanes
        found = rows * segments
        finish = beside(found, size) + beside(found, PLACE_BYTES) + stored_apart(rows)
        finish += chain(found, blocks(segments, shares))
        tree = shared_tree(shares // 2, "sequential", rows, (size + PLACE_BYTES) // 4, lanes)
        # Lanes side by side are of one share: a warp adds or does not.
        finish += tree if lanes == 1 else replace(tree, divergent_warps=0)
        return {self.kernel(): made + stored_apart(2 * found), self.kernel("finish"): finish}

    def _lanes(self, problem: Argreduce) -> int:
        return 1 if problem.inner == 1 else _LANES
