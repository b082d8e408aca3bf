"""The GPUs that tests are given; where one is missing, cases that want it are left out.

They are thousands: one line at the end says how many and why.  ``pytest -m gpu -rs`` goes through
each of them instead, and each says why it is skipped.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

_GPU = pytest.mark.gpu
_LEFT_OUT = pytest.StashKey[Counter]()


@functools.cache
def why_none(name: str) -> str:
    """Why there is no ``cuda``, or no ``opencl:0`` of the kind after the hyphen; else empty."""
    from rooftile.devices.select import describe_gpu
    from rooftile.errors import DeviceMissing

    device, _, kind = name.partition("-")
    try:
        description = describe_gpu(device, 0)
    except DeviceMissing as error:
        return str(error)
    if kind and description.gpu != (kind == "gpu"):
        return f"opencl:0 is {description.name}, {'no' if kind == 'gpu' else 'a'} GPU"
    return ""


def _open(name):
    if reason := why_none(name):
        pytest.skip(reason)
    from rooftile.devices.select import open_gpu

    return open_gpu(name.partition("-")[0])


@pytest.fixture(scope="session")
def cuda_device():
    """The first NVIDIA GPU."""
    return _open("cuda")


@pytest.fixture(scope="session", params=["opencl-cpu", pytest.param("opencl-gpu", marks=_GPU)])
def opencl_device(request):
    """``opencl:0``: a GPU where the machine has one, else a CPU will do."""
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
def optimised():
    """OpenCL's texts are compiled as for a user: where rounding is looked at, or much computed."""


@functools.cache
def compiles_plainly() -> bool:
    """Whether ``opencl:0`` is Intel's for CPUs, which stands in for a GPU's: it takes a fifth of
    the time where it need not optimise."""
    from rooftile.devices.select import describe_gpu

    return not why_none("opencl-cpu") and "Intel" in describe_gpu("opencl", 0).driver


def compile_plainly(replace: Callable[[str, Any], None]) -> None:
    """OpenCL's texts are not optimised, where ``opencl:0`` takes long to do that."""
    if compiles_plainly():
        from rooftile.devices.opencl import device

        replace("rooftile.devices.opencl.device.OPTIONS", (*device.OPTIONS, "-cl-opt-disable"))


@pytest.fixture
def plainly_compiled(request, monkeypatch):
    """For tests with small problems in many texts, which take longer to compile than to run."""
    if "optimised" not in request.fixturenames:
        compile_plainly(monkeypatch.setattr)


def gpu_of(item) -> str:
    """The GPU that a test's fixtures stand for: ``cuda``, ``opencl-gpu`` or none."""
    if "cuda_device" in item.fixturenames:
        return "cuda"
    given = getattr(item, "callspec", None)
    devices = [given.params.get(name) for name in ("device", "opencl_device")] if given else []
    return next((name for name in devices if name in ("cuda", "opencl-gpu")), "")


def pytest_configure(config):
    config.stash[_LEFT_OUT] = Counter()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    wanted = {item: gpu for item in items if (gpu := gpu_of(item))}
    for item in wanted:
        item.add_marker(_GPU)
    if "gpu" in config.option.markexpr:
        return
    reasons = {item: reason for item, gpu in wanted.items() if (reason := why_none(gpu))}
    config.stash[_LEFT_OUT].update(reasons.values())
    config.hook.pytest_deselected(items=list(reasons))
    items[:] = [item for item in items if item not in reasons]


def pytest_sessionfinish(session):
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left_out"] = dict(session.config.stash[_LEFT_OUT])


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    """All of xdist's processes have collected the same tests."""
    output = getattr(node, "workeroutput", {})
    node.config.stash[_LEFT_OUT] |= Counter(output.get("left_out", {}))


def pytest_terminal_summary(terminalreporter, config):
    for reason, count in config.stash[_LEFT_OUT].items():
        terminalreporter.write_line(f"{count} tests left out: {reason}")
