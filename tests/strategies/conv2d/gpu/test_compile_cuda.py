"""Every GPU rung of conv2d through NVRTC; no GPU needed."""

import pytest

from rooftile.devices.cuda import compile_cubin
from rooftile.devices.cuda.compile import cuda_core
from rooftile.devices.cuda.cubin import resources
from rooftile.errors import CompileFailure, DeviceMissing
from rooftile.ops import Conv2d, Pool, named
from tests.support.compiling import MEASURED, compiled, other_architectures
from tests.support.ladder_checks import RUNGS

TUNED = {"row_global", "row_private", "row_local", "row_pair", "im2col_register", "direct_tile"}
"""Rungs whose sums live in registers: a spill would undo them.

`coarsened` is not among them: on an H200 it is faster with 64 registers, 16 bytes spilled
and twice the blocks than with all the registers that it wants.
"""
_MOST_SHARED_BYTES = 227 * 1024

# Strides differ in sizes alone, which one of them shows.
NAMES = ("lenet-conv2", "lab-conv5", "stride-4")
SHAPES = [named("conv2d", name) for name in NAMES]
AVERAGE = Pool.of("average", (3, 2), (1, 3))


@pytest.fixture(scope="module")
def compiler():
    try:
        cuda_core()
    except DeviceMissing as error:
        pytest.skip(str(error))


def check_compiles(rung, problem, architecture):
    taken = compiled(rung, problem, architecture)
    spilled = {name: kernel.frame_bytes for name, kernel in taken.items() if kernel.frame_bytes}
    assert rung.name not in TUNED or not spilled, (problem, architecture, spilled)
    config = rung.config(problem)
    for step in (*rung.preparation(problem, config), *rung.steps(problem, config)):
        assert step.launch.shared_bytes <= _MOST_SHARED_BYTES


@pytest.mark.parametrize("rung", RUNGS)
def test_named_problems_compile_and_fit(rung):
    problems = [problem for problem in SHAPES if rung.why_not(problem) is None]
    if rung.name not in TUNED:
        # It may spill: the one with the largest mask and pool shows what a thread takes, and
        # OpenCL's compiler sees the texts of all shapes.
        problems = problems[:1]
    for architecture in other_architectures(rung):
        check_compiles(rung, problems[0], architecture)
    for problem in problems:
        check_compiles(rung, problem, MEASURED)


@pytest.mark.parametrize("rung", RUNGS)
def test_the_largest_tunables_fit_a_blocks_registers(rung):
    """Each as large as the ones before it leave room for."""
    problem = Conv2d(1, 3, 13, 41, 9, (3, 2), activation="relu")
    if rung.why_not(problem) is not None:
        pytest.skip(rung.why_not(problem))
    config = rung.config(problem)
    for tunable in rung.tunables:
        for value in sorted(tunable.values, reverse=True):
            larger = {**config, tunable.name: value}
            if rung.invalid(problem, larger) is None:
                config = larger
                break
    compiled(rung, problem, MEASURED, config)


@pytest.mark.parametrize("rung", RUNGS)
def test_every_activation_and_pool_compiles(rung):
    """Those that no named problem has: of the first of these that a rung takes."""
    for problem in (
        Conv2d(1, 3, 13, 41, 2, (5, 3), (1, 2), (2, 1), "sigmoid", AVERAGE),
        Conv2d(2, 1, 14, 25, 2, (3, 3), activation="tanh", pool=Pool.of("average", 2)),
    ):
        if rung.why_not(problem) is None:
            check_compiles(rung, problem, MEASURED)
            return


def test_spills_and_registers_are_seen(compiler):
    """A kernel with an indexed array a thread has a frame; one without has none."""
    text = """
__global__ void lean(GLOBAL float* out) { out[threadIdx.x] = 1.0f; }
__global__ void wide(const GLOBAL int* at, GLOBAL float* out) {
    float kept[64];
    for (int i = 0; i < 64; i++) kept[at[i] & 63] = out[i];
    out[threadIdx.x] = kept[at[threadIdx.x] & 63];
}
"""
    taken = resources(compile_cubin(text, {}, "sm_90"))
    assert taken["lean"].frame_bytes == 0
    assert taken["wide"].frame_bytes == 4 * 64
    assert 0 < taken["lean"].registers < taken["wide"].registers


def test_the_compilers_log_is_in_the_error(compiler):
    with pytest.raises(CompileFailure, match="nonsense"):
        compile_cubin("__global__ void k() { nonsense; }", {}, "sm_90")
