"""`warp_rows`: a team of threads an output, for few images.

Source: Bell, Garland, "Implementing Sparse Matrix-Vector Multiplication on Throughput-Oriented
Processors", SC09 (a warp a row), on a dense matrix; the tree is that of PMPP, section 10.6.
"""

from __future__ import annotations

from rooftile.analysis.accesses import WARP, Accesses, broadcasts, vector_loads
from rooftile.devices.gpu import Launch
from rooftile.ops import Linear
from rooftile.strategies.common.grid import beyond_block, blocks, tile_of
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.linear.gpu._base import GpuLinear

_THREAD_INPUTS = 32
"""Inputs a thread, where there are enough."""


class WarpRows(GpuLinear):
    """Reads the weights once for every IMAGES images; sums are the same in every run."""

    name = "warp_rows"
    summary = "a team of threads an output, joined by a tree: for few images"
    tunables = (
        Tunable("GROUP", (32, 64, 128, 256), 128),
        Tunable("ROWS", (1, 2, 4, 8), 1),
        Tunable("IMAGES", (1, 2, 4, 8), 1),
        Tunable("AHEAD", (1, 2, 4), 4),
    )

    def defaults(self, problem: Linear) -> dict[str, int]:
        """No more threads than the inputs occupy, no more images than there are; with several
        images fewer loads ahead, whose registers their sums need."""
        team = tile_of(blocks(problem.inputs, _THREAD_INPUTS), 32, 256)
        images = tile_of(problem.batch, 1, 8)
        return {
            "GROUP": team,
            "ROWS": max(1, 128 // team),
            "IMAGES": images,
            "AHEAD": 4 if images < 4 else 2,
        }

    def invalid(self, problem: Linear, config: Config) -> str | None:
        threads = config["GROUP"] * config["ROWS"]
        return beyond_block(threads, 4 * config["IMAGES"] * threads)

    def macros(self, problem: Linear, config: Config) -> dict[str, int | str]:
        return {**super().macros(problem, config), "TEAM": config["GROUP"]}

    def steps(self, problem: Linear, config: Config) -> tuple[Step, ...]:
        rows = blocks(problem.outputs, config["ROWS"])
        grid = (rows * blocks(problem.batch, config["IMAGES"]), 1, 1)
        launch = Launch(self.kernel(), grid, (config["GROUP"], config["ROWS"], 1), overlaps=True)
        return (Step(launch, ("x", "weights", "bias", "out", problem.batch)),)

    def accesses(self, problem: Linear, config: Config) -> dict[str, Accesses]:
        """The weights once for every IMAGES images, the inputs once for every output; a step of the
        tree reads two sums of each image."""
        images, team = config["IMAGES"], config["GROUP"]
        groups = blocks(problem.batch, images)
        outputs = blocks(problem.outputs, config["ROWS"]) * config["ROWS"]
        wide = 4 if problem.inputs % 4 == 0 else 1
        found = vector_loads(outputs * problem.inputs * groups * (1 + images) / wide, wide)
        steps = team.bit_length() - 1
        tree = outputs * groups * images * 2 * (steps + team / WARP)
        results = problem.batch * problem.outputs
        found += Accesses(stores=results, store_sectors=results, shared_reads=tree)
        return {self.kernel(): found + broadcasts(results / images)}


STRATEGY = WarpRows()
