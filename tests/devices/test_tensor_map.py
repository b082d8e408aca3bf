"""The bulk copy engine: what a tensor map makes of an array; and who has none."""

import numpy as np
import pytest

from rooftile.devices.gpu import Launch, TensorMap
from rooftile.devices.launches import Call
from rooftile.errors import UnsupportedProblem

TEXT = """
struct __align__(64) tensor_map { unsigned long long words[16]; };

__global__ void fetch(const __grid_constant__ tensor_map map, unsigned* out, int row, int column)
{
    __shared__ __align__(1024) unsigned box[3 * 4 * 32];
    __shared__ unsigned long long barrier;
    unsigned to = (unsigned)__cvta_generic_to_shared(box);
    unsigned done = (unsigned)__cvta_generic_to_shared(&barrier), passed = 0;
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(done));
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(done),
                 "n"(sizeof box));
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                 " [%0], [%1, {%2, %3, %4}], [%5];" ::"r"(to),
                 "l"(&map), "r"(0), "r"(column), "r"(row), "r"(done)
                 : "memory");
    while (!passed)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; "
                     "selp.u32 %0, 1, 0, p; }"
                     : "=r"(passed) : "r"(done) : "memory");
    for (int e = 0; e < 3 * 4 * 32; e++) out[e] = box[e];
}
"""
ARRAY = TensorMap("array", shape=(5, 6, 32), box=(3, 4, 32), element_bytes=4)


def _swizzled(rows):
    """Rows of 32 words: of each eight, the row's number exclusive-ored into that of four words."""
    pieces = rows.reshape(-1, 8, 4)
    return np.stack([piece[np.arange(8) ^ (n % 8)] for n, piece in enumerate(pieces)])


@pytest.mark.parametrize(("row", "column"), [(0, 0), (1, 2), (-1, -2), (4, 3), (7, 0)])
def test_a_box_is_swizzled_and_zero_beyond_the_array(cuda_device, row, column):
    if cuda_device.description.architecture < "sm_90":
        pytest.skip(f"{cuda_device.description.architecture} has no bulk copy engine")
    values = np.random.default_rng(abs(row + column)).integers(1, 2**32, ARRAY.shape, np.uint32)
    memory, other = cuda_device.upload(values), cuda_device.upload(np.zeros_like(values))
    out = np.zeros(3 * 4 * 32, np.uint32)
    result = cuda_device.upload(out)
    program = cuda_device.compile(TEXT, {})
    arguments = (ARRAY, result, np.int32(row), np.int32(column))
    call = Call(program, Launch("fetch", (1, 1, 1), (1, 1, 1)), arguments)
    launches = cuda_device.launches([call], ["array"])
    for place in (other, memory):
        # Another array of the same layout needs no other launches.
        launches.start([place])
    cuda_device.copy_out(result, out)
    padded = np.zeros((5 + 20, 6 + 20, 32), np.uint32)
    padded[10:15, 10:16] = values
    box = padded[10 + row : 13 + row, 10 + column : 14 + column].reshape(-1, 32)
    assert np.array_equal(out, _swizzled(box).reshape(-1))


def test_opencl_has_no_such_engine(opencl_device):
    with pytest.raises(UnsupportedProblem, match="no bulk copy engine"):
        opencl_device.launches([Call(None, None, (ARRAY,))], ["array"])
