from __future__ import annotations

import numpy as np
import pytest

from rooftile.devices.cuda import compile as compiling
from rooftile.devices.gpu import Launch
from rooftile.devices.opencl import device as opencl
from rooftile.devices.text import whole
from rooftile.errors import CompileFailure

TEXT = """#include "outer.h"

__global__ void one(GLOBAL float* out) { out[0] = VALUE + TWICE(VALUE); }
"""


@pytest.fixture
def folder(tmp_path):
    """A header that includes another one by its path from another folder."""
    shared = tmp_path / "with a space" / "near"
    shared.mkdir(parents=True)
    (shared / "outer.h").write_text('#pragma once\n#include "near/inner.h"\n#define VALUE 1.0f\n')
    (shared / "inner.h").write_text("#pragma once\n#define TWICE(x) (2.0f * (x))\n")
    return shared


def folders(folder):
    return folder, folder.parent


def test_headers_stand_where_they_are_included_with_guards(folder):
    found = whole('#include "near/inner.h"\n' + TEXT, folders(folder))
    assert "#include" not in found
    assert "#pragma" not in found
    assert found.count("#define TWICE") == found.count("#ifndef INCLUDED_NEAR_INNER_H") == 2
    assert found.index("#define TWICE") < found.index("#define VALUE") < found.index("void one")


def test_a_text_that_includes_nothing_and_a_header_that_is_nowhere_stay(folder):
    for text in ("int one;\n", '#include "nowhere.h"\n'):
        assert whole(text, folders(folder)) == text


def test_opencl_builds_again_when_a_header_has_changed(
    folder, opencl_device, monkeypatch, tmp_path
):
    monkeypatch.setattr(opencl, "cache_directory", lambda: tmp_path)
    out = np.zeros(1, np.float32)
    for factor, expected in ((2.0, 3.0), (2.0, 3.0), (4.0, 5.0)):
        text = f"#pragma once\n#define TWICE(x) ({factor}f * (x))\n"
        (folder / "inner.h").write_text(text)
        memory = opencl_device.allocate(4)
        program = opencl_device.compile(TEXT, {}, folders(folder))
        program.launch(Launch("one", (1, 1, 1), (1, 1, 1)), memory)
        opencl_device.copy_out(memory, out)
        assert out[0] == expected


def test_cuda_compiles_again_when_a_header_has_changed(folder, monkeypatch, tmp_path):
    pytest.importorskip("cuda.core")
    monkeypatch.setattr(compiling, "cache_directory", lambda: tmp_path)

    def code():
        return compiling.compile_cubin(TEXT, {}, "sm_90", folders(folder))

    first = code()
    assert code() == first
    (folder / "inner.h").write_text("#pragma once\n#define TWICE(x) (8.0f * (x))\n")
    assert code() != first
    assert len(list(tmp_path.rglob("*.cubin"))) == 2


def test_cuda_says_where_in_a_header_it_fails(folder, monkeypatch, tmp_path):
    pytest.importorskip("cuda.core")
    monkeypatch.setattr(compiling, "cache_directory", lambda: tmp_path)
    (folder / "inner.h").write_text("#pragma once\n\nnonsense;\n")
    with pytest.raises(CompileFailure, match=r"inner\.h\(3\)"):
        compiling.compile_cubin(TEXT, {}, "sm_90", folders(folder))
