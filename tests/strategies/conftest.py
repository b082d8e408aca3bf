"""What the tests of several operations' rungs share."""

from __future__ import annotations

import pytest

from gpus import why_none
from rooftile.devices.opencl import device
from rooftile.devices.select import describe_gpu


@pytest.fixture
def optimised():
    """OpenCL's texts are compiled as for a user: where rounding is looked at, or much computed."""


@pytest.fixture(autouse=True)
def plainly_compiled(request, monkeypatch):
    """Other tests are about small problems in many texts, which take longer to compile than to
    run: so Intel's OpenCL for CPUs, which stands in for a GPU's, does not optimise."""
    if "optimised" in request.fixturenames or why_none("opencl-cpu"):
        return
    if "Intel" in describe_gpu("opencl", 0).driver:
        monkeypatch.setattr(device, "_OPTIONS", (*device._OPTIONS, "-cl-opt-disable"))


@pytest.fixture(scope="session")
def hopper(cuda_device):
    """A GPU with warpgroups of sm_90."""
    architecture = cuda_device.description.architecture
    if architecture != "sm_90":
        pytest.skip(f"{architecture} has no warpgroups of sm_90")
    return cuda_device
