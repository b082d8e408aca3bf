"""Kernels on an NVIDIA GPU: what they may ask of it."""

from __future__ import annotations

import ctypes
from dataclasses import replace

import numpy as np
import pytest

from rooftile.devices.cuda.driver import answer
from rooftile.devices.gpu import Launch
from rooftile.errors import UnsupportedProblem

CARVEOUT = 9
"""CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT."""
TEXT = """
__shared__ float kept[32];
extern __shared__ float asked[];

__global__ void turn(float* out, int count)
{
    int last = count - 1 - threadIdx.x;
    asked[last] = threadIdx.x;
    kept[threadIdx.x] = 1.0f;
    __syncthreads();
    out[threadIdx.x] = asked[threadIdx.x + count - 32] + kept[31 - threadIdx.x];
}
"""


@pytest.mark.parametrize("extra", [-128, 0, 4, 1024], ids=str)
def test_static_and_dynamic_shared_memory_together_may_pass_48_kib(cuda_device, extra):
    nbytes = 48 * 1024 + extra
    program = cuda_device.compile(TEXT, {})
    out = cuda_device.upload(np.zeros(32, np.float32))
    program.launch(Launch("turn", (1, 1, 1), (32, 1, 1), nbytes), out, nbytes // 4)
    result = np.empty(32, np.float32)
    cuda_device.copy_out(out, result)
    np.testing.assert_array_equal(result, 32 - np.arange(32))


def test_what_runs_beside_others_asks_for_all_shared_memory(cuda_device):
    alone = Launch("turn", (1, 1, 1), (32, 1, 1), 128)
    for launch, percent in ((alone, -1), (replace(alone, concurrent=True), 100)):
        program = cuda_device.compile(TEXT, {})
        kernel = ctypes.c_void_p(program.launchable(launch))
        function = ctypes.c_void_p(answer("cuKernelGetFunction", ctypes.c_void_p, kernel))
        found = answer("cuFuncGetAttribute", ctypes.c_int, CARVEOUT, function)
        assert found == percent


def test_more_threads_than_a_kernels_registers_allow_are_refused(cuda_device):
    few = TEXT.replace("__global__ void", "__global__ void __launch_bounds__(64)")
    program, launch = cuda_device.compile(few, {}), Launch("turn", (1, 1, 1), (64, 1, 1), 128)
    assert program.launchable(launch)
    with pytest.raises(UnsupportedProblem, match=r"turn.* 96 threads of \d+ registers, at most 64"):
        program.launchable(replace(launch, block=(96, 1, 1)))


def test_blocks_run_together_or_not_at_all(cuda_device):
    program = cuda_device.compile(TEXT, {})
    out = cuda_device.upload(np.zeros(32, np.float32))
    together = Launch("turn", (2, 1, 1), (32, 1, 1), 128, cooperative=True)
    program.launch(together, out, 32)
    result = np.empty(32, np.float32)
    cuda_device.copy_out(out, result)
    np.testing.assert_array_equal(result, 32 - np.arange(32))
    with pytest.raises(RuntimeError, match="COOPERATIVE"):
        program.launch(replace(together, grid=(10**6, 1, 1)), out, 32)
