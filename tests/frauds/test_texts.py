"""Kernels' texts: OpenCL C on whatever drives it, CUDA C compiled here and judged on a GPU."""

from __future__ import annotations

import pytest

from rooftile.errors import CompileFailure
from rooftile.lab.audit import Foreign, audit
from rooftile.lab.audit.process.session import Session
from rooftile.lab.audit.process.worker_text import compile_cuda
from rooftile.ops import parse
from rooftile.ops.patterns.scan import Scan

from .verdicts import KERNELS, SHAPE

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
        assert found.time_ms.median > 0


@pytest.mark.parametrize(("name", "expected"), OPENCL.items())
def test_opencl(judge, opencl_device, name, expected):
    check(judge(f"{name}:conv", device="opencl", launch=LAUNCH), expected)


@pytest.mark.parametrize("name", ["gpu_honest.cl", "gpu_overrun.cl"])
def test_on_a_gpu_the_device_tells_the_time(judge, opencl_device, monkeypatch, name):
    """As it would be there: the process that launches the text is trusted."""
    monkeypatch.setattr(Session, "on_host", False)
    found = judge(f"{name}:conv", device="opencl", launch=LAUNCH)
    check(found, OPENCL[name])
    if found.passed:
        assert found.cold_ms.median > 0
        assert found.check("timers").status == "not applicable"


SKIPS = "grid=batch*maps block=1 " + LAUNCH.partition(" ")[2].partition(" ")[2] + ",SKIP:{}"


@pytest.mark.parametrize(("skip", "expected"), [("1", "cache"), ("0", None)])
def test_results_that_are_there_are_computed_anew(judge, opencl_device, skip, expected):
    if opencl_device.description.gpu:
        pytest.skip("outputs are poisoned before each launch there, and nothing is gained")
    name, line = "fraud_warm_skip.cl:conv", SKIPS.format(skip)
    found = judge(name, batch=60, device="opencl", launch=line, limit_s=300.0)
    check(found, expected)


SOFTMAX = """
kernel void softmax(global const float* x, global float* y, int batch, int classes)
{
    int row = get_global_id(0);
    if (row >= batch) return;
    float largest = LARGEST, sum = 0;
    for (int i = 0; i < classes; ++i) sum += exp(x[row * classes + i] - largest);
    for (int i = 0; i < classes; ++i)
        y[row * classes + i] = exp(x[row * classes + i] - largest) / sum;
}
"""
LARGEST = """x[row * classes], sum = 0;
    for (int i = 0; i < classes; ++i) largest = fmax(largest, x[row * classes + i])"""
WRONG = {
    "honest": (SOFTMAX.replace("LARGEST, sum = 0", LARGEST), None),
    "without the maximum": (SOFTMAX.replace("LARGEST", "0"), "values"),
}


@pytest.mark.parametrize("name", WRONG)
def test_texts_are_asked_what_functions_are(quick_audits, opencl_device, tmp_path, name):
    text, expected = WRONG[name]
    path = tmp_path / "softmax.cl"
    path.write_text(text)
    line = "grid=ceil(batch/64) block=64 args=x,out,batch,classes"
    kernel = Foreign.parse(f"{path}:softmax", "opencl", launch=line)
    check(audit(kernel, parse("softmax", "classes=20", 8)), expected)


def test_a_text_has_no_rooftile_beside_it(quick_audits, opencl_device):
    if opencl_device.description.gpu:
        pytest.skip("a text is a program on a processor alone")
    line = "grid=1 block=64 args=x,y,x_size"
    kernel = Foreign.parse(f"{KERNELS / 'fraud_python.cl'}:scan", "opencl", launch=line)
    found = audit(kernel, Scan((1000,)))
    assert "complete" in failed(found), found.checks
    assert "rooftile" in found.noise


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


def test_a_text_that_writes_far_outside_is_told_so(quick_audits, opencl_device, tmp_path):
    text = (KERNELS / "gpu_overrun.cl").read_text().replace("out[index + 1]", "out[index - 15000]")
    path = tmp_path / "before.cl"
    path.write_text(text)
    kernel = Foreign.parse(f"{path}:conv", "opencl", launch=LAUNCH)
    check(audit(kernel, parse("conv2d", SHAPE, 1)), "bounds")
