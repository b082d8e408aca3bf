"""What the tests of several rooms share."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

from rooftile.devices import cuda
from rooftile.devices.select import open_gpu
from rooftile.errors import DeviceMissing

_GPU = pytest.mark.gpu

# How long an example takes says nothing on a machine with other work.
settings.register_profile("rooftile", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("rooftile")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """``-m gpu`` selects what wants a GPU: tests say so by the fixture that they take."""
    for item in items:
        if "cuda_device" in item.fixturenames:
            item.add_marker(_GPU)


def _open(name):
    """The device ``cuda``, or ``opencl:0`` if that is a CPU or a GPU, as after the hyphen."""
    kind, _, wanted = name.partition("-")
    try:
        device = open_gpu(kind)
    except DeviceMissing as error:
        pytest.skip(str(error))
    if wanted and device.description.gpu != (wanted == "gpu"):
        pytest.skip(
            f"opencl:0 is {device.description.name}, {'no' if wanted == 'gpu' else 'a'} GPU"
        )
    return device


@pytest.fixture(scope="session", autouse=True)
def own_history(tmp_path_factory):
    """No test reads or writes the user's history."""
    with pytest.MonkeyPatch.context() as patch:
        path = tmp_path_factory.mktemp("history") / "session.sqlite"
        patch.setenv("ROOFTILE_HISTORY", str(path))
        yield


@pytest.fixture
def history_path(tmp_path, monkeypatch):
    """A history of the test's own; the file is not there yet."""
    path = tmp_path / "history.sqlite"
    monkeypatch.setenv("ROOFTILE_HISTORY", str(path))
    return path


@pytest.fixture(scope="session")
def cuda_device():
    """The first NVIDIA GPU."""
    return _open("cuda")


@pytest.fixture(scope="session", params=["opencl-cpu", pytest.param("opencl-gpu", marks=_GPU)])
def opencl_device(request):
    """``opencl:0``: a GPU where the machine has one, else PoCL on a CPU will do."""
    return _open(request.param)


@pytest.fixture(
    scope="session",
    params=[
        "opencl-cpu",
        pytest.param("opencl-gpu", marks=_GPU),
        pytest.param("cuda", marks=_GPU),
    ],
)
def device(request):
    """Each device that kernels of both languages run on."""
    return _open(request.param)


@pytest.fixture
def no_cuda(monkeypatch):
    """As on a machine without an NVIDIA GPU, also where there is one."""

    def missing(index=0):
        raise DeviceMissing("a working NVIDIA driver (libcuda.so.1)", "NVIDIA's driver")

    monkeypatch.setattr(cuda, "find", missing)
    monkeypatch.setattr(cuda, "open_device", missing)
