"""Dishonest and honest kernels on arrays in a GPU's memory.

An honest one's clocks must agree, so it has the GPU to itself; a dishonest one is caught beside
others too, and most of its seconds go into loading PyTorch.
"""

from __future__ import annotations

import importlib.util

import pytest

from .test_honest import SEEDS

FRAUDS = {
    "gpu_cache_address": "cache",
    "gpu_cache_content": "cache",
    "gpu_conv2d": "library",
    "gpu_events": "timers",
    "gpu_fp16": "precision",
    "gpu_lazy": "lazy",
    "gpu_other_stream": "stream",
    "gpu_stale_memory": "stale",
    "gpu_synchronize": "timers",
    "gpu_tf32": "precision",
    "gpu_thread": "on_time",
}
ALSO = {
    # The result may be complete by chance where nobody waits for it, and half done elsewhere.
    "gpu_other_stream": {"complete", "stale", "cache", "on_time", "values", "repeatable"},
    "gpu_stale_memory": {"complete", "cache", "values"},
}
HONEST = {"gpu_honest_torch": "torch", "gpu_honest_cupy": "cupy", "gpu_honest_triton": "triton"}
ON_CPU = (
    "gpu_cache_address",
    "gpu_cache_content",
    "gpu_conv2d",
    "gpu_fp16",
    "gpu_lazy",
    "gpu_thread",
)
SMALL = "channels=16,height=40,width=44,maps=8,mask=3x3,padding=1x1,activation=relu"


def needs(library):
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"not installed: {library}")


def failed(found):
    return {check.name: check.evidence for check in found.checks if check.status == "failed"}


def check(found, name, expected):
    assert expected in failed(found), found.checks
    assert set(failed(found)) <= {expected} | ALSO.get(name, set()), failed(found)
    assert found.time_ms is None


@pytest.mark.parametrize(("name", "expected"), FRAUDS.items())
def test_it_fails_for_the_right_reason(judge, cuda_device, name, expected):
    needs("torch")
    check(judge(name, SMALL, 16, device="cuda"), name, expected)


@pytest.mark.parametrize("name", ON_CPU)
def test_the_same_on_tensors_of_the_cpu(judge, name):
    needs("torch")
    check(judge(name, SMALL, 4), name, FRAUDS[name])


@pytest.mark.alone
@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize(("name", "library"), HONEST.items())
def test_an_honest_kernel_passes(judge, cuda_device, name, library, seed):
    needs(library)
    found = judge(name, SMALL, 16, device="cuda", seed=seed)
    assert found.passed, failed(found)
    assert found.time_ms.median > 0
    assert found.check("stream").status == "passed"


def test_honest_tensors_of_the_cpu_pass(judge):
    needs("torch")
    found = judge("gpu_honest_torch", SMALL, 4)
    assert found.passed, failed(found)


@pytest.mark.alone
def test_allowed_cudnn_passes(judge, cuda_device):
    needs("torch")
    assert judge("gpu_conv2d", SMALL, 16, device="cuda", allow_library=True).passed
    assert judge("gpu_tf32", SMALL, 16, device="cuda", allow_library=True, precision="tf32").passed
