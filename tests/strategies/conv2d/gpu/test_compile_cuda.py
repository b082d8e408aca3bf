"""Every GPU rung of conv2d through NVRTC, for every architecture; no GPU needed."""

import pytest
from ladder_checks import PROBLEMS, RUNGS

from rooftile.devices.cuda import compile_cubin
from rooftile.devices.cuda.compile import cuda_core
from rooftile.devices.cuda.cubin import resources
from rooftile.errors import CompileFailure, DeviceMissing
from rooftile.ops.conv2d import NAMED

ARCHITECTURES = ("sm_75", "sm_80", "sm_90", "sm_100")
TUNED = {"row_local", "row_vector", "im2col_register", "direct_tile"}
"""Rungs whose sums live in registers: a spill would undo them.

`coarsened` is not among them: on an H200 it is faster with 64 registers, 16 bytes spilled
and twice the blocks than with all the registers that it wants.
"""
_REGISTERS_PER_BLOCK = 65536
_MOST_SHARED_BYTES = 227 * 1024


@pytest.fixture(scope="module", autouse=True)
def compiler():
    try:
        cuda_core()
    except DeviceMissing as error:
        pytest.skip(str(error))


def _compile(rung, problem, architecture):
    """What each kernel takes, with the launches that run it."""
    config = rung.config(problem)
    code = compile_cubin(rung.text, rung.macros(problem, config), architecture, rung.folders)
    taken = resources(code)
    for step in (*rung.preparation(problem, config), *rung.steps(problem, config)):
        kernel = taken[step.launch.kernel]
        assert kernel.registers * step.launch.threads <= _REGISTERS_PER_BLOCK, problem
        assert step.launch.shared_bytes <= _MOST_SHARED_BYTES
    return taken


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("rung", RUNGS)
def test_named_problems_compile_and_fit(rung, architecture):
    for name, (make, batch) in NAMED.items():
        # One architecture will do for the strides: they differ in sizes alone.
        if name.startswith("stride") and architecture != "sm_90":
            continue
        problem = make(batch)
        if rung.why_not(problem) is None:
            taken = _compile(rung, problem, architecture)
            if rung.name in TUNED:
                spilled = {k: t.frame_bytes for k, t in taken.items() if t.frame_bytes}
                assert not spilled, (name, "bytes a thread", spilled)


@pytest.mark.parametrize("rung", RUNGS)
def test_every_activation_and_pool_compiles(rung):
    for problem in PROBLEMS:
        if rung.why_not(problem) is None:
            _compile(rung, problem, "sm_90")


def test_spills_and_registers_are_seen():
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


def test_the_compilers_log_is_in_the_error():
    with pytest.raises(CompileFailure, match="nonsense"):
        compile_cubin("__global__ void k() { nonsense; }", {}, "sm_90")
