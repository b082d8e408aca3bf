"""Object files that are put into memory without LLVM."""

from __future__ import annotations

import ctypes
import math
import os
import struct
import sys

import numpy as np
import pytest

from rooftile.devices import cpu
from rooftile.devices.cpu.native import build, native, objects

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or os.uname().machine != "x86_64", reason="x86-64 on Linux only"
)


@native
def curved(x, out, sizes, begin, end):
    """Constants, a function of the C library and one of its mathematics."""
    for k in range(begin, end):
        out[k] = np.float32(math.tanh(x[k])) if x[k] > 0.5 else x[k] * np.float32(3.25)
    for k in range(end, sizes[0]):
        out[k] = np.float32(0.0)


@pytest.fixture(scope="module")
def code():
    return build.compiled(curved.text(("float32", "float32"), scratch=False))


def result(address):
    """What the entry at an address makes of some numbers."""
    x, sizes = np.linspace(-1, 2, 100, dtype=np.float32), np.array([120], np.int64)
    out = np.full(120, np.nan, np.float32)
    row = np.array(cpu.places((x, out, sizes)), np.int64)
    entry = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 4)(address)
    entry(cpu.address(row), 0, 0, 100)
    expected = np.where(x > 0.5, np.tanh(x), x * np.float32(3.25))
    np.testing.assert_allclose(out[:100], expected, rtol=1e-6)
    assert not out[100:].any()
    return out


def test_code_that_was_put_into_memory_computes_what_llvms_does(code, monkeypatch):
    (here,), image = objects.linked(code, ["entry"])
    assert image.start <= here < image.start + image.nbytes
    monkeypatch.setattr(objects, "linked", lambda *_: None)
    there = build._linked(code, ["entry"])
    np.testing.assert_array_equal(result(here), result(there.addresses[0]))


def test_what_it_does_not_know_is_left_to_llvm(code):
    assert objects.linked(b"\xcf\xfa\xed\xfe" + code[4:], ["entry"]) is None
    for section in objects._sections(code):
        if section.type == objects.RELOCATIONS:
            # Another kind of reference: R_X86_64_64.
            at = section.offset + 8
            other = code[:at] + struct.pack("<I", 1) + code[at + 4 :]
            assert objects.linked(other, ["entry"]) is None
            break
    else:
        pytest.fail("the code refers to nothing")


def test_what_lies_nowhere_is_left_to_llvm(code):
    assert objects.linked(code, ["entry", "exit_that_nobody_wrote"]) is None


@pytest.mark.parametrize("harm", [lambda kept: kept[:-100], lambda kept: b"\0" + kept[1:]])
def test_a_file_that_was_changed_is_compiled_anew(code, tmp_path, monkeypatch, harm):
    monkeypatch.setattr(build, "kernel_directory", lambda: tmp_path)
    monkeypatch.setattr(build, "compiled", lambda *_: code)
    (found,) = build.addresses("curved", "digest", str, ["entry"])
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    path.write_bytes(harm(whole))
    (again,) = build.addresses("curved", "digest", str, ["entry"])
    assert path.read_bytes() == whole
    np.testing.assert_array_equal(result(found), result(again))
