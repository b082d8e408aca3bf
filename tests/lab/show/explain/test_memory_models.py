"""What explanations count of memory: models of all dense patterns, and what is read again."""

from __future__ import annotations

import dataclasses

import pytest

from rooftile.lab.show.explain import kernels as kernels_module
from rooftile.ops import named, names
from rooftile.ops.patterns.matmul import Matmul
from rooftile.ops.patterns.stencil import Stencil
from rooftile.strategies import ladder, strategy
from rooftile.strategies.contract.gpu import of_launches
from tests.support.every_rung import NOT_HERE

DENSE = (
    "matmul",
    "matvec",
    "conv1d",
    "separable",
    "conv3d",
    "stencil",
    "transpose",
    "permute_columns",
    "rotate",
    "elementwise",
    "grayscale",
    "box_blur",
)


LIBRARIES = {("matmul", "blas")}
"""Rungs of the CPU whose loops another library has: nobody here can read them."""


def problems_of(rung, operation):
    """The first of the named problems that a rung takes, and with matrices that lie transposed."""
    found = [named(operation, name) for name in names(operation)]
    found += [Matmul(256, 128, 192, transpose_a=True)] if operation == "matmul" else []
    if rung.name == "double":
        found = [dataclasses.replace(problem, dtype="float64") for problem in found]
    taken = [problem for problem in found if rung.why_not(problem) is None]
    assert taken, f"{rung.name} takes no named problem"
    return {taken[0], taken[-1]}


@pytest.mark.parametrize("operation", DENSE)
def test_every_rung_says_what_each_of_its_kernels_does_to_memory(operation):
    for rung in map(of_launches, ladder(operation, "cuda") + ladder(operation, "opencl")):
        for problem in problems_of(rung, operation):
            config = rung.config(problem)
            counted = rung.accesses(problem, config)
            launched = {step.launch.kernel for step in rung.steps(problem, config)}
            assert set(counted) == launched, rung.name
            read = sum(one.loads for one in counted.values())
            assert read >= sum(array.size for array in problem.input_arrays) * 0.99, rung.name
            written = sum(one.stores + one.atomics for one in counted.values())
            assert written >= sum(array.size for array in problem.output_arrays), rung.name
            passes = sum(one.cache_passes for one in counted.values())
            assert passes >= 0.99 * sum(a.nbytes for a in problem.input_arrays) / 128, rung.name


@pytest.mark.parametrize("operation", DENSE)
def test_every_rung_of_the_cpu_shows_its_kernel(operation):
    for rung in ladder(operation):
        if NOT_HERE in {rung.why_not(named(operation, name)) for name in names(operation)}:
            continue
        for problem in problems_of(rung, operation):
            shown = rung.native(problem)
            assert (shown is None) == ((operation, rung.name) in LIBRARIES), rung.name
            if shown is not None:
                kernel, dtypes, scratch = shown
                # What is shown is what runs: a text for arrays of the problem's dtypes.
                assert kernel.text(dtypes, scratch)
                assert {array.dtype for array in problem.output_arrays} <= set(dtypes)


@pytest.mark.parametrize("tile", [{}, {"WARP_R": 32, "WARP_C": 16, "WARPS_R": 1, "PARTS": 3}])
def test_slices_of_mma_are_counted_tile_by_tile(tile):
    problem = Matmul(200, 1000, 300)
    rung = of_launches(strategy("matmul", "mma_ieee", "cuda"))
    config = rung.config(problem, tile)
    (grid,) = {step.launch.grid for step in rung.steps(problem, config)[:1]}
    down, across = (config[f"WARP_{n}"] * config[f"WARPS_{n}"] for n in "RC")
    brought = read = 0
    for block in range(grid[0]):
        row, column = (block // -(-300 // across) * down, block % -(-300 // across) * across)
        brought += 1000 * (min(down, 200 - row) + min(across, 300 - column))
        # Each warp reads its rows and columns of whole slices of 32 terms.
        warps = config["WARPS_R"] * config["WARPS_C"]
        read += 1024 * warps * (config["WARP_R"] + config["WARP_C"])
    counted = rung.accesses(problem, config)[rung.kernel()]
    assert counted.loads == brought
    assert counted.load_sectors == brought / 8
    assert counted.shared_reads == read / 32
    assert counted.stores == 200 * 300 * config["PARTS"]


def test_blocks_that_share_slices_bring_them_once():
    problem = Matmul(512, 256, 512)
    rung = of_launches(strategy("matmul", "bulk_tf32", "cuda"))
    given = {"WARPGROUPS": 2, "TILE_C": 128, "SWAPPED": 0, "PARTS": 1}
    lone, shared = (
        rung.accesses(problem, rung.config(problem, {**given, "ROW_BLOCKS": n, "COLUMN_BLOCKS": n}))
        for n in (1, 2)
    )
    assert lone["bulk"].loads == 256 * (512 * 4 + 512 * 4)
    assert shared["bulk"].loads == lone["bulk"].loads / 2
    # Each of 16 tiles has two warpgroups, which read 64 rows and all 128 columns.
    assert shared["bulk"].shared_reads == lone["bulk"].shared_reads
    assert lone["bulk"].shared_reads == 16 * 2 * 256 * (64 + 128) / 32


def test_what_one_launch_makes_and_the_next_reads_is_counted_twice():
    problem = Stencil((64, 64, 64), 7, 8)
    rung = of_launches(strategy("stencil", "several_steps", "cuda"))
    config = rung.config(problem, {"LEVELS": 4})
    steps = rung.steps(problem, config)
    assert len(steps) == 2
    ((read, written),) = kernels_module.touched_by(rung, problem, config, steps).values()
    whole = 4 * 64**3
    assert written == 2 * whole
    assert 2 * whole <= read <= 2 * whole + 1024
