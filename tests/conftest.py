"""What the tests of several rooms share."""

from __future__ import annotations

import pytest

from rooftile.devices import cuda
from rooftile.devices.select import open_gpu
from rooftile.errors import DeviceMissing


@pytest.fixture(scope="session")
def opencl_device():
    """The OpenCL device ``opencl:0``: PoCL on a CPU will do."""
    try:
        return open_gpu("opencl")
    except DeviceMissing as error:
        pytest.skip(str(error))


@pytest.fixture
def no_cuda(monkeypatch):
    """As on a machine without an NVIDIA GPU, also where there is one."""

    def missing(index=0):
        raise DeviceMissing("a working NVIDIA driver (libcuda.so.1)", "NVIDIA's driver")

    monkeypatch.setattr(cuda, "find", missing)
    monkeypatch.setattr(cuda, "open_device", missing)
