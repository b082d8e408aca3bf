"""Importing the package is free: nothing compiled, no thread, no heavy dependency."""

import subprocess
import sys

import pytest

import rooftile

SCRIPT = """
import os, sys, threading
before = set(sys.modules)
import rooftile
new = set(sys.modules) - before
heavy = sorted(new & {"numba", "llvmlite", "numpy", "cuda", "pyopencl", "torch", "rich"})
assert not heavy, heavy
assert threading.active_count() == 1
assert len(os.listdir("/proc/self/task")) == 1
rooftile.conv2d
import rooftile.functional
from rooftile.devices.cpu.native import build
assert not build._kept, build._kept
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


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="conv4d"):
        _ = rooftile.conv4d
