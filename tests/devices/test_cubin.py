"""What is read of a cubin, for kernels whose resources are known."""

import pytest

from rooftile.devices.cuda import compile_cubin
from rooftile.devices.cuda.compile import cuda_core
from rooftile.devices.cuda.cubin import resources
from rooftile.errors import DeviceMissing

TEXT = """
__global__ void none(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void some(float* out)
{
    __shared__ float held[28];
    if (threadIdx.x < 28) held[threadIdx.x] = out[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = held[27 - threadIdx.x % 28];
}
__global__ void given(float* out)
{
    SHARED_ARRAY(float, held);
    held[threadIdx.x] = out[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = held[31 - threadIdx.x];
}
"""


@pytest.mark.parametrize("architecture", ["sm_75", "sm_80", "sm_90a", "sm_100a"])
def test_shared_memory_is_the_kernels_own(architecture):
    try:
        cuda_core()
    except DeviceMissing as error:
        pytest.skip(str(error))
    taken = resources(compile_cubin(TEXT, {}, architecture))
    assert {name: each.shared_bytes for name, each in taken.items()} == {
        "none": 0, "some": 112, "given": 0,
    }  # fmt: skip
    assert all(1 <= each.registers <= 32 and each.frame_bytes == 0 for each in taken.values())
