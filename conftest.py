"""What the tests of several rooms share."""

from __future__ import annotations

import gc
import importlib
import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

from rooftile.errors import DeviceMissing

pytest_plugins = [
    "tests.support.busiest",
    "tests.support.chosen_tests",
    "tests.support.command_line",
    "tests.support.gpus",
    "tests.support.quick",
]

# How long an example takes says nothing on a machine with other work.
settings.register_profile(
    "rooftile", max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("rooftile")


def pytest_configure() -> None:
    gc.disable()
    # Hypothesis would read each of the package's thousand modules for numbers to try.
    none = providers.Constants()
    providers._get_local_constants = lambda: none
    # JAX would take three quarters of a GPU's memory, which several processes of tests share.
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    if "PYTEST_XDIST_WORKER" in os.environ:
        # The processes share the cores; threads of BLAS would wait for work in each other's way.
        from threadpoolctl import threadpool_limits

        threadpool_limits(1, user_api="blas")


def pytest_collection_finish() -> None:
    """What was collected stays to the end: the collector of garbage need not look at it again."""
    gc.enable()
    gc.freeze()


@pytest.fixture(scope="session")
def benchmark_script():
    """Modules of benchmarks/ by name; they import each other, as scripts do."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).parent / "benchmarks"))
        yield importlib.import_module


@pytest.fixture(scope="session", autouse=True)
def own_history(tmp_path_factory):
    """No test reads or writes the user's history."""
    with pytest.MonkeyPatch.context() as patch:
        path = tmp_path_factory.mktemp("history") / "session.sqlite"
        patch.setenv("ROOFTILE_HISTORY", str(path))
        yield


@pytest.fixture(autouse=True)
def choices_of_its_own(monkeypatch):
    """No test is given a choice that another one's devices and preferences led to."""
    if "rooftile.runtime.selection.choice" in sys.modules:
        monkeypatch.setattr("rooftile.runtime.selection.choice.kept", {})


@pytest.fixture
def history_path(tmp_path, monkeypatch):
    """A history of the test's own; the file is not there yet."""
    path = tmp_path / "history.sqlite"
    monkeypatch.setenv("ROOFTILE_HISTORY", str(path))
    return path


@pytest.fixture
def no_cuda(monkeypatch):
    """As on a machine without an NVIDIA GPU, also where there is one."""

    def missing(index=0):
        raise DeviceMissing("a working NVIDIA driver (libcuda.so.1)", "NVIDIA's driver")

    for name in ("find", "open_device"):
        monkeypatch.setattr(f"rooftile.devices.cuda.{name}", missing)


@pytest.fixture
def on_grid(monkeypatch):
    """For tests that are not about neighbours, whose kernels take time to compile."""
    monkeypatch.setattr("rooftile.ops.Problem.neighbours", lambda self: ())
