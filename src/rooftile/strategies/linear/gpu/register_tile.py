"""`register_tile`: matrix multiply with joint register and shared tiling.

Source: Volkov, Demmel, "Benchmarking GPUs to Tune Dense Linear Algebra", SC08; the sum
that several blocks share is that of Osama, Merrill, Cecka, Garland, Owens, "Stream-K",
PPoPP 2023, section 3 (fixed split).

Alone among the rungs in float32 it adds the products of a part in one sum, whose error can leave
the budget in an adverse order of terms: the text says why.
"""

from __future__ import annotations

import math
from dataclasses import replace

from rooftile.analysis.accesses import (
    SECTOR_FLOATS,
    WARP,
    Accesses,
    broadcasts,
    linear_stores,
    row_loads,
    row_stores,
    warps_of,
)
from rooftile.devices.gpu import Launch
from rooftile.ops import Linear
from rooftile.strategies.common.grid import blocks, tile_of
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.linear.gpu._base import GpuLinear

_RESIDENT = 2**16
"""About as many threads as a large GPU holds with this rung's registers."""
_SLACK = 1.1
"""Share of the least time up to which fewer parts are taken."""
_PARTS = (1, 2, 4, 8, 16)
_PART_INPUTS = 256
"""Least inputs of a part: fewer do not pay for writing its sums and adding them."""
_FINISH_BLOCK = 256


class RegisterTile(GpuLinear):
    """Tiles shrink, and their sums are shared out, where a batch makes too few of them."""

    name = "register_tile"
    summary = "tiles in registers and shared memory, four inputs a load"
    tunables = (
        Tunable("TILE_B", (32, 64, 128), 128),
        Tunable("TILE_O", (32, 64, 128), 128),
        Tunable("TILE_K", (8, 16), 8),
        Tunable("RESULTS_B", (4, 8), 8),
        Tunable("RESULTS_O", (4, 8), 8),
        Tunable("PARTS", _PARTS, 1),
    )

    def defaults(self, problem: Linear) -> dict[str, int]:
        """The largest tiles that occupy the device; parts where tiles alone would leave it idle."""
        config = _tile(tile_of(problem.batch, 32, 128), tile_of(problem.outputs, 32, 128))
        if _threads(problem, config) < _RESIDENT // 2:
            config = _tile(min(config["TILE_B"], 64), min(config["TILE_O"], 64))
        return {**config, "PARTS": _parts(problem, config)}

    def invalid(self, problem: Linear, config: Config) -> str | None:
        """Fewer outputs across than a warp has threads beside each other."""
        across = config["TILE_O"] // config["RESULTS_O"]
        return f"a tile is {across} threads wide, a warp 8" if across < 8 else None

    def macros(self, problem: Linear, config: Config) -> dict[str, int | str]:
        """The problem's sizes, the tunables, and the block of the second kernel."""
        return {**super().macros(problem, config), "FINISH_BLOCK": _FINISH_BLOCK}

    def workspace(self, problem: Linear, config: Config) -> dict[str, int]:
        """Every part's sums, where there are several."""
        parts = config["PARTS"]
        return {"partial": parts * problem.batch * problem.outputs} if parts > 1 else {}

    def steps(self, problem: Linear, config: Config) -> tuple[Step, ...]:
        """One kernel over tiles and parts; another that adds the parts, where there are several."""
        parts, threads = config["PARTS"], _block(config)
        launch = Launch(self.kernel(), (_tiles(problem, config), parts, 1), (threads, 1, 1))
        if parts == 1:
            return (Step(launch, ("x", "weights", "bias", "out", problem.batch)),)
        results = problem.batch * problem.outputs
        finish = Launch(
            self.kernel("finish"), (blocks(results, _FINISH_BLOCK), 1, 1), (_FINISH_BLOCK, 1, 1)
        )
        return (
            Step(launch, ("x", "weights", "bias", "partial", problem.batch)),
            Step(finish, ("partial", "bias", "out", problem.batch)),
        )

    def accesses(self, problem: Linear, config: Config) -> dict[str, Accesses]:
        """Tiles loaded in vectors of four inputs, rows beyond the last again; of each step a thread
        reads its images' inputs and its outputs' weights."""
        inputs, deep = problem.inputs, config["TILE_K"]
        tiles, parts = _tiles(problem, config), config["PARTS"]
        results = problem.batch * problem.outputs
        rows = tiles * (config["TILE_B"] + config["TILE_O"])
        alignment = math.gcd(inputs, SECTOR_FLOATS)
        runs = row_loads(inputs, rows, lanes=deep, alignment=alignment)
        wide = 4 if inputs % 4 == 0 else 1
        found = replace(runs, load_requests=runs.loads / WARP / wide)
        vectors = (config["RESULTS_B"] + config["RESULTS_O"]) / 4
        steps = blocks(inputs, deep) * deep
        found += Accesses(shared_reads=tiles * warps_of(_block(config)) * steps * vectors)
        found += row_stores(problem.outputs, problem.batch * parts)
        shifts = broadcasts(results / WARP)
        if parts == 1:
            return {self.kernel(): found + shifts}
        sums = row_loads(results, parts, alignment=math.gcd(results, SECTOR_FLOATS))
        return {self.kernel(): found, self.kernel("finish"): sums + shifts + linear_stores(results)}


def _tile(b: int, o: int) -> dict[str, int]:
    """A tile of so many images and outputs; with 64 results a thread, registers are left for the
    fewer loads of a shorter one."""
    return {
        "TILE_B": b,
        "TILE_O": o,
        "TILE_K": 8 if (b, o) == (128, 128) else 16,
        "RESULTS_B": 8 if b == 128 else 4,
        "RESULTS_O": 8 if o == 128 else 4,
    }


def _tiles(problem: Linear, config: Config) -> int:
    return blocks(problem.batch, config["TILE_B"]) * blocks(problem.outputs, config["TILE_O"])


def _block(config: Config) -> int:
    """Threads of a block."""
    return config["TILE_B"] // config["RESULTS_B"] * (config["TILE_O"] // config["RESULTS_O"])


def _threads(problem: Linear, config: Config) -> int:
    """Threads of a part."""
    return _tiles(problem, config) * _block(config)


def _parts(problem: Linear, config: Config) -> int:
    """Parts that keep the device busy to the end: its last round of blocks may be nearly empty."""
    threads = _threads(problem, config)
    rounds = {
        parts: blocks(parts * threads, _RESIDENT) / parts
        for parts in _PARTS
        if parts == 1 or parts * _PART_INPUTS <= problem.inputs
    }
    return min(p for p, taken in rounds.items() if taken <= _SLACK * min(rounds.values()))


STRATEGY = RegisterTile()
