"""Kernels' texts: OpenCL C on whatever drives it, CUDA C compiled here and judged on a GPU."""

from __future__ import annotations

import pytest

from rooftile.errors import CompileFailure
from rooftile.lab.audit.process.worker_text import compile_cuda

from .verdicts import KERNELS

LAUNCH = (
    "grid=ceil(columns/8),ceil(rows/8),batch*maps block=8,8 "
    "args=x,weights,bias,out,channels,height,width,maps,rows,columns "
    "define=MASK:mask_height,PADDING:padding_height"
)
CUDA = {"gpu_fp16.cu": "precision", "gpu_honest.cu": None, "gpu_idle.cu": "complete"}
OPENCL = {
    "gpu_honest.cl": None, "gpu_inputs.cl": "inputs", "gpu_overrun.cl": "bounds",
    "gpu_tiles.cl": "off_grid",
}  # fmt: skip


def failed(found):
    return {check.name: check.evidence for check in found.checks if check.status == "failed"}


def check(found, expected):
    assert (expected in failed(found)) if expected else not failed(found), failed(found)
    assert (found.time_ms is None) == (expected is not None)
    if expected is None:
        assert found.cold_ms.median > 0
        assert found.check("timers").status == "not applicable"


@pytest.mark.parametrize(("name", "expected"), OPENCL.items())
def test_opencl(judge, opencl_device, name, expected):
    check(judge(f"{name}:conv", device="opencl", launch=LAUNCH), expected)


@pytest.mark.alone
@pytest.mark.parametrize(("name", "expected"), CUDA.items())
def test_cuda(judge, cuda_device, name, expected):
    found = judge(f"{name}:conv", device="cuda", launch=LAUNCH)
    check(found, expected)
    if expected is None:
        assert found.resources.registers > 0
        assert found.roof_fraction > 0


@pytest.mark.parametrize("name", sorted(CUDA))
def test_cuda_texts_compile_without_a_gpu(name):
    pytest.importorskip("cuda.core", reason="NVRTC is not installed")
    text = (KERNELS / name).read_text(encoding="utf-8")
    code, kernel = compile_cuda(text, "conv", {"MASK": 3, "PADDING": 1}, "sm_90")
    assert kernel.encode() in code
    with pytest.raises(CompileFailure, match="PADDING"):
        compile_cuda(text, "conv", {"MASK": 3}, "sm_90")


def test_an_instance_of_a_template_is_named_as_in_cuda():
    pytest.importorskip("cuda.core", reason="NVRTC is not installed")
    text = "template <int N> __global__ void tile(float *y) { y[threadIdx.x] = N; }"
    code, kernel = compile_cuda(text, "tile<16>", {}, "sm_90")
    assert isinstance(code, bytes)
    assert kernel != "tile<16>"
    assert kernel.encode() in code
    with pytest.raises(CompileFailure, match="other"):
        compile_cuda(text, "other", {}, "sm_90")


def test_a_text_that_does_not_compile_is_a_verdict(judge, opencl_device):
    found = judge("gpu_honest.cl:conv", device="opencl", launch=LAUNCH.partition(" define")[0])
    assert "MASK" in found.check("runs").evidence
    assert not found.passed
