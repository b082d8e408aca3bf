"""All rows of a at once, b once. Source: Bell, Garland, "Implementing Sparse Matrix-Vector
Multiplication on Throughput-Oriented Processors", SC09 (a warp a row), on a dense matrix."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

from rooftile.analysis.accesses import (
    SECTOR_FLOATS,
    WARP,
    Accesses,
    row_loads,
    row_stores,
    vector_loads,
    warps_of,
)
from rooftile.devices.gpu import Launch
from rooftile.ops.patterns.matmul import Matmul
from rooftile.strategies.common.cores import CORES
from rooftile.strategies.common.grid import beyond_block, blocks, tile_of
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.gemm.gpu.tiles import MOST
from rooftile.strategies.matmul.gpu._base import GpuMatmul


def of_teams(problem: Matmul, config: Config, rows: int, vector: int) -> Accesses:
    """A team of LANES threads a line of b, and a tree that joins its ``rows`` sums."""
    lanes, elements = config["LANES"], problem.columns * problem.inner
    found = vector_loads(elements / vector, vector)
    if problem.transpose_a and problem.rows > 1:
        found += row_loads(problem.inner, problem.columns * rows, stride=problem.rows)
    else:
        found += vector_loads(elements * rows / vector, vector)
    reaches = [lanes >> step for step in range(1, lanes.bit_length())]
    joined = problem.columns * rows * (2 * sum(map(warps_of, reaches)) + 1)
    results = problem.rows * problem.columns
    # Each result is stored by a thread of another warp.
    return found + Accesses(stores=results, store_sectors=results, shared_reads=joined)


def of_strips(problem: Matmul, config: Config, rows: int, vector: int) -> Accesses:
    """Strips of columns and parts of the terms, whose share of a is in shared memory."""
    lanes, slices, parts = config["LANES"], config["SLICES"], config["PARTS"]
    strip = lanes * vector
    across = blocks(problem.columns, strip)
    found = vector_loads(problem.columns * problem.inner / vector, vector)
    stride = problem.rows if problem.transpose_a else 1
    aligned = 1 if problem.transpose_a else math.gcd(problem.inner, SECTOR_FLOATS)
    found += row_loads(problem.inner, problem.rows * across, stride=stride, alignment=aligned)
    # Slices of a warp read neighbouring terms at once.
    terms = across * problem.inner * rows * warps_of(lanes * slices) / slices
    joined = across * parts * rows * slices * warps_of(strip)
    found += Accesses(shared_reads=terms + joined)
    return found + row_stores(problem.columns, problem.rows * parts)


def of_finish(results: int, parts: int) -> Accesses:
    """A thread a result adds the parts' sums."""
    return row_loads(results, parts, alignment=8) + row_stores(results, 1)


_MOST_ROWS = 8
_FINISH_THREADS = 256
_TERMS = 256
"""Terms of a that lie in shared memory at a time by default, and the least of a part."""
_STAGED = {"TERMS": _TERMS, "WHOLE": 0}
_LANE_TERMS = 32
"""Terms a thread of a team has, where there are enough."""
_WHOLE_TERMS = 4096
_LARGE = {"LANES": 8, "SLICES": 128, "AHEAD": 4, "PARTS": 1, "TERMS": _WHOLE_TERMS, "WHOLE": 1}
"""Blocks of 1024 threads that take all terms, so that nothing is left to add."""
_RESIDENT = 6
"""Blocks of a multiprocessor that keep its memory busy."""

_LOAD = 16
"""Bytes of a load of b."""


class FewRows(GpuMatmul):
    """Takes up to eight rows; sums are the same in every run, in float32 whatever it reads."""

    name = "few_rows"
    summary = "all rows at once, b once: for few rows"
    tunables = (
        Tunable("LANES", (8, 32, 64, 128, 256), 32),
        Tunable("SLICES", (1, 2, 4, 8, 16, 32, 64, 128), 8),
        Tunable("AHEAD", (1, 2, 4, 8), 4),
        Tunable("PARTS", (1, 2, 4, 8, 16, 32, 64), 1),
        Tunable("TERMS", (_TERMS, _WHOLE_TERMS), _TERMS),
        Tunable("WHOLE", (0, 1), 0),
    )

    def limits(self, problem: Matmul) -> str | None:
        if problem.rows > _MOST_ROWS:
            return f"it takes up to {_MOST_ROWS} rows"
        if problem.rows * problem.columns > MOST:
            return f"{problem.rows * problem.columns} results: indices are 32-bit"
        return super().limits(problem)

    def defaults(self, problem: Matmul) -> dict[str, int]:
        """No more threads a line than its terms occupy; parts that keep the device busy."""
        ahead = 8 if problem.rows == 1 else 4 if problem.rows < _MOST_ROWS else 2
        if problem.transpose_b:
            lanes = tile_of(blocks(problem.inner, _LANE_TERMS), 32, 256)
            # Partial sums of all rows lie in shared memory.
            slices = max(1, 256 // lanes)
            return {"LANES": lanes, "SLICES": slices, "AHEAD": ahead, "PARTS": 1, **_STAGED}
        if self._fills_large_blocks(problem):
            return dict(_LARGE)
        strips = blocks(problem.columns, 32 * _vector(problem))
        wanted = blocks(_RESIDENT * self.machine.multiprocessors, strips)
        parts = tile_of(min(wanted, max(1, problem.inner // _TERMS)), 1, 64)
        return {"LANES": 32, "SLICES": 8, "AHEAD": ahead, "PARTS": parts, **_STAGED}

    def _fills_large_blocks(self, problem: Matmul) -> bool:
        """A single row of float32, and about a block for each multiprocessor."""
        vector, units = _vector(problem), self.machine.multiprocessors
        if problem.rows > 1 or self.narrow or vector == 1:
            return False
        if self.machine.block_threads < _LARGE["LANES"] * _LARGE["SLICES"]:
            return False
        large = blocks(problem.columns, _LARGE["LANES"] * vector)
        half = _WHOLE_TERMS // 2
        return 3 * units <= 4 * large <= 4 * units and half <= problem.inner <= _WHOLE_TERMS

    def invalid(self, problem: Matmul, config: Config) -> str | None:
        threads = config["LANES"] * config["SLICES"]
        if problem.transpose_b:
            if config["PARTS"] > 1 or any(config[name] != _STAGED[name] for name in _STAGED):
                return "lines of a transposed b have no parts, and nothing of a in shared memory"
            if config["LANES"] < WARP:
                return f"a team of {config['LANES']} threads is less than a warp"
            return beyond_block(threads, 4 * threads * _rows(problem))
        ahead = config["AHEAD"] * config["SLICES"]
        if ahead > config["TERMS"]:
            return f"{ahead} terms ahead, of {config['TERMS']} in shared memory"
        held = _vector(problem) * threads + _rows(problem) * config["TERMS"]
        return beyond_block(threads, 4 * held)

    def macros(self, problem: Matmul, config: Config) -> dict[str, int | str]:
        return {
            **super().macros(problem, config),
            "ROWS": _rows(problem),
            "VECTOR": _vector(problem),
            "FINISH_THREADS": _FINISH_THREADS,
        }

    def workspace(self, problem: Matmul, config: Config) -> dict[str, int]:
        parts = config["PARTS"]
        return {"sums": parts * problem.rows * problem.columns} if parts > 1 else {}

    def steps(self, problem: Matmul, config: Config) -> tuple[Step, ...]:
        sizes = problem.rows, problem.inner, problem.columns
        block = config["LANES"], config["SLICES"], 1
        if problem.transpose_b:
            grid = (blocks(problem.columns, config["SLICES"]), 1, 1)
            return (Step(Launch(self.kernel("teams"), grid, block), ("a", "b", "out", *sizes)),)
        parts, results = config["PARTS"], problem.rows * problem.columns
        across = blocks(problem.columns, config["LANES"] * _vector(problem))
        strips = Launch(self.kernel("strips"), (across, parts, 1), block)
        share = blocks(problem.inner, parts)
        if parts == 1:
            return (Step(strips, ("a", "b", "out", *sizes, share)),)
        finish = Launch(
            self.kernel("finish"), (blocks(results, _FINISH_THREADS), 1, 1), (_FINISH_THREADS, 1, 1)
        )
        return (
            Step(strips, ("a", "b", "sums", *sizes, share)),
            Step(finish, ("sums", "out", results, parts)),
        )

    def accesses(self, problem: Matmul, config: Config) -> dict[str, Accesses]:
        """See `GpuStrategy.accesses`; of float32, which the model's lengths are of."""
        rows, vector = _rows(problem), _vector(problem)
        if problem.transpose_b:
            return {self.kernel("teams"): of_teams(problem, config, rows, vector)}
        found = {self.kernel("strips"): of_strips(problem, config, rows, vector)}
        if config["PARTS"] > 1:
            found[self.kernel("finish")] = of_finish(
                problem.rows * problem.columns, config["PARTS"]
            )
        return found


def _rows(problem: Matmul) -> int:
    return tile_of(problem.rows, 1, _MOST_ROWS)


def _vector(problem: Matmul) -> int:
    """Elements of a load of b: 16 bytes, or a single one."""
    whole = _LOAD // problem.arrays[1].itemsize
    return whole if problem.arrays[1].shape[1] % whole == 0 else 1


class FewRowsNarrow(FewRows):
    """As `FewRows`, on numbers of 16 bits."""

    name = "few_rows_{precision}"
    stores: ClassVar[Mapping[str, str]] = {"X_NARROW": "a,b:narrow", "OUT_NARROW": "out:narrow"}
    summary = "as few_rows, both matrices in {numbers}"

    def macros(self, problem: Matmul, config: Config) -> dict[str, int | str]:
        return {**super().macros(problem, config), "CORES": CORES[self.precision].word}


STRATEGIES = (FewRows(), FewRowsNarrow().at("fp16"), FewRowsNarrow().at("bf16"))
