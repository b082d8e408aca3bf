"""Importing the package is free: nothing compiled, no thread, no heavy dependency."""

import ast
import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

import rooftile

SCRIPT = """
import os, sys, threading
before = set(sys.modules)
import rooftile
new = set(sys.modules) - before
late = {"numba", "llvmlite", "numpy", "cuda", "pickle", "pyopencl", "torch", "typing", "rich"}
heavy = sorted(new & late)
assert not heavy, heavy
assert threading.active_count() == 1
assert len(os.listdir("/proc/self/task")) == 1
rooftile.conv2d
import rooftile.functional
from rooftile.devices.cpu.native import build
assert not build._in_memory and not build._stays
assert "numba" not in sys.modules
assert threading.active_count() == 1
print("free")
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts threads in /proc")
def test_import_compiles_nothing_and_starts_no_thread():
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False
    )
    assert run.stdout.strip() == "free", run.stderr


def test_every_public_name_exists_and_is_listed():
    for name in rooftile.__all__:
        assert getattr(rooftile, name).__doc__, name
    assert set(rooftile.__all__) <= set(dir(rooftile))


def test_the_stub_has_the_packages_names():
    names, stars = set(), []
    for node in ast.parse((Path(rooftile.__file__).with_suffix(".pyi")).read_text()).body:
        for one in node.names:
            assert one.asname == one.name or one.name == "*", "type checkers hide it from users"
            (stars.append(node.module) if one.name == "*" else names.add(one.name))
    assert stars == ["functional"]
    assert names | set(rooftile.functional.__all__) == set(dir(rooftile))


def test_a_star_import_brings_functions_and_no_submodule():
    found = {}
    exec("from rooftile import *", found)
    assert {*found} - {"__builtins__"} == {*rooftile.__all__}
    assert {"conv2d", "InputError", "load"} <= {*found}
    assert not {"errors", "functional", "nn"} & {*found}


def test_submodules_are_there_without_an_import_of_theirs():
    script = "import rooftile; print(rooftile.nn.training.train.__name__, rooftile.errors.__name__)"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert run.stdout.split() == ["train", "rooftile.errors"], run.stderr


LAZY = ["functional", "nn", "nn.data", "devices.cuda", "devices.opencl"]


@pytest.mark.parametrize("name", LAZY)
def test_names_that_are_imported_on_first_use_are_listed(name):
    module = importlib.import_module(f"rooftile.{name}")
    assert set(module.__all__) <= set(dir(module))
    for one in module.__all__:
        assert getattr(module, one) is not None


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="conv4d"):
        _ = rooftile.conv4d


CALL = """
import sys
import numpy as np
import rooftile
before = set(sys.modules)
rooftile.conv2d(np.ones((1, 1, 9, 20), np.float32), np.ones((2, 1, 3, 3), np.float32))
late = {
    "llvmlite.binding", "importlib.metadata", "ml_dtypes", "platformdirs", "sqlite3",
    "threadpoolctl", "rooftile.devices.gpu", "rooftile.devices.cuda.device",
    "rooftile.devices.opencl.device", "rooftile.runtime.arrays.torch",
}
print(sorted((set(sys.modules) - before) & late))
"""


@pytest.mark.skipif(
    not sys.platform.startswith("linux") or os.uname().machine != "x86_64",
    reason="elsewhere LLVM links what lies in the cache",
)
def test_a_call_whose_kernels_are_in_the_cache_imports_little(tmp_path):
    environ = os.environ | {"ROOFTILE_CACHE": str(tmp_path)}
    command = [sys.executable, "-c", CALL]
    printed = [
        subprocess.run(command, env=environ, capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    ]
    assert "llvmlite.binding" in printed[0]
    assert printed[1].strip() == "[]"
